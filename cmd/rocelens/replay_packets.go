package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/analysis/excerpt"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
)

// maxExcerpts is how many files --packets writes at most.
const maxExcerpts = 1000

// checkPackets refuses what --packets cannot do before the captures are read.
func (c *replayCommand) checkPackets() error {
	if c.Packets == "" {
		return nil
	}
	if slices.Contains(c.Files, "-") {
		return &exitError{exitUsage, errors.New("--packets reads the captures again, which standard input does not allow: write it to a file first")}
	}
	entries, err := os.ReadDir(c.Packets)
	if err == nil && len(entries) > 0 {
		return &exitError{exitUsage, fmt.Errorf("--packets %s: the directory is not empty", c.Packets)}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--packets: %w", err)
	}
	return nil
}

// proofs is a replayOutput that keeps in mind what is to be proved, too.
type proofs struct {
	replayOutput
	undetermined bool // these as well
	kept         []*excerptPlan
	left         int
	connection   map[flow.ID]flow.ID // of each flow
	sources      map[string]*pcapfile.Source
}

func newProofs(out replayOutput, undetermined bool) *proofs {
	return &proofs{replayOutput: out, undetermined: undetermined, connection: map[flow.ID]flow.ID{}, sources: map[string]*pcapfile.Source{}}
}

// Flow implements analysis.FlowSink.
func (p *proofs) Flow(r *flow.Record) error { //nolint:unparam // the interface has it
	p.connection[r.ID] = r.ConnectionID
	return nil
}

// connectionOf is the connection of a flow.
func (p *proofs) connectionOf(id flow.ID) flow.ID {
	if of, known := p.connection[id]; known {
		return of
	}
	return id
}

// excerptPlan is one file to be written.
type excerptPlan struct {
	claim      excerpt.Claim
	connection finding.ConnectionID
	numbers    map[uint64]bool // of the packets in it
}

// Finding keeps what a divergence is to be proved with.
func (p *proofs) Finding(f *finding.Finding) {
	p.replayOutput.Finding(f)
	if f.Verdict != finding.Diverges && !p.undetermined {
		return
	}
	if len(p.kept) >= maxExcerpts {
		p.left++
		return
	}
	plan := &excerptPlan{
		claim: excerpt.Claim{
			Rule: f.Rule.Describe().ID, Verdict: f.Verdict.String(), Sentence: f.Sentence, Packets: slices.Clone(f.Packets()),
		},
		connection: f.Connection, numbers: map[uint64]bool{},
	}
	for _, n := range plan.claim.Packets {
		plan.numbers[n] = true
	}
	p.kept = append(p.kept, plan)
}

// writePackets reads the captures again, once for which packets lie around each proof and once for the packets, so that files that
// cannot be sought, such as compressed ones, can be copied from without being held in memory.
func (p *proofs) writePackets(ctx context.Context, c *replayCommand, files []fileResult, std *streams) error {
	if err := os.MkdirAll(c.Packets, 0o750); err != nil {
		return fmt.Errorf("--packets: %w", err)
	}
	if len(p.kept) > 0 && c.Around > 0 {
		near := newNeighbours(p, c.Around)
		again := analysis.New(analysis.Config{SkipICRC: true}, near)
		for _, f := range files {
			if err := eachSource(f, func(source *pcapfile.Source) error { return again.Add(ctx, f.Name, source) }); err != nil {
				return err
			}
		}
	}
	out, err := newExcerpts(c.Packets, p, files)
	if err != nil {
		return err
	}
	for i, f := range files {
		if err := eachSource(f, func(source *pcapfile.Source) error { return out.copy(ctx, i, source) }); err != nil {
			return err
		}
	}
	fmt.Fprintf(std.Err, "rocelens: wrote %s to %s\n", plural(uint64(len(p.kept)), "file"), c.Packets)
	if p.left > 0 {
		fmt.Fprintf(std.Err, "rocelens: %s more would have been written; the first %d were\n", plural(uint64(p.left), "file"), maxExcerpts)
	}
	return nil
}

// eachSource opens a capture again; one that could not be read the first time is passed over.
func eachSource(f fileResult, read func(source *pcapfile.Source) error) error {
	if f.Result == nil {
		return nil
	}
	source, err := pcapfile.Open(f.Name, pcapfile.Options{})
	if err != nil {
		return err
	}
	return errors.Join(read(source), source.Close())
}

// neighbours is a PacketSink that finds the packets of a connection around those that prove something about it.
type neighbours struct {
	around     int
	connection map[flow.ID]flow.ID
	plans      map[flow.ID][]*search // by connection
	last       map[flow.ID][]uint64  // the latest packets of a connection, at most around
}

// search is how far the search for one plan's packets has come.
type search struct {
	plan   *excerptPlan
	proofs []uint64 // still to come, ascending
	after  int      // packets that are still to be taken
}

func newNeighbours(p *proofs, around int) *neighbours {
	n := &neighbours{around: around, connection: p.connection, plans: map[flow.ID][]*search{}, last: map[flow.ID][]uint64{}}
	for _, plan := range p.kept {
		id := p.connectionOf(flow.ID(plan.connection))
		n.plans[id] = append(n.plans[id], &search{plan: plan, proofs: slices.Sorted(slices.Values(plan.claim.Packets))})
	}
	return n
}

// Packet implements analysis.PacketSink.
func (n *neighbours) Packet(e *analysis.PacketEvent) error { //nolint:unparam // the interface has it
	id := n.connection[e.Observation.Flow]
	searches := n.plans[id]
	if len(searches) == 0 {
		return nil
	}
	number, before := e.Packet.Meta.Number, n.last[id]
	for _, s := range searches {
		for len(s.proofs) > 0 && s.proofs[0] <= number {
			for _, b := range before {
				s.plan.numbers[b] = true
			}
			s.proofs, s.after = s.proofs[1:], n.around
		}
		if s.after > 0 && !s.plan.numbers[number] {
			s.plan.numbers[number] = true
			s.after--
		}
	}
	if before = append(before, number); len(before) > n.around {
		before = slices.Delete(before, 0, len(before)-n.around)
	}
	n.last[id] = before
	return nil
}

// excerpts are the files that are being written. Each is opened for every packet anew, as there may be more of them than
// a process may have open.
type excerpts struct {
	files   []fileResult
	wanted  map[uint64][]*excerptFile // by number of the packet
	batch   capture.Batch
	offsets []uint32 // what an interface's number in each file is to be raised by
}

type excerptFile struct {
	path   string
	claim  *excerpt.Claim
	writer *excerpt.Writer
}

// Write appends to the file.
func (f *excerptFile) Write(b []byte) (int, error) {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := file.Write(b)
	return n, errors.Join(err, file.Close())
}

var _ io.Writer = (*excerptFile)(nil)

func newExcerpts(directory string, p *proofs, files []fileResult) (*excerpts, error) {
	out := &excerpts{files: files, wanted: map[uint64][]*excerptFile{}}
	var interfaces []pcapfile.WriterInterface
	for i := range files {
		out.offsets = append(out.offsets, uint32(len(interfaces)))
		if files[i].Result == nil {
			continue
		}
		var names []excerpt.Interface
		for _, at := range files[i].Result.Interfaces {
			names = append(names, excerpt.Interface{Name: at.Name, Description: at.Description})
		}
		index := p.sources[files[i].Name].Index()
		interfaces = append(interfaces, excerpt.Interfaces(&index, names)...)
	}
	captured := "captures"
	if len(files) == 1 {
		captured = filepath.Base(files[0].Name)
	}
	for i, plan := range p.kept {
		file := &excerptFile{claim: &plan.claim}
		file.path = filepath.Join(directory, fmt.Sprintf("%04d-%s", i+1, plan.claim.FileName(captured)))
		var err error
		if file.writer, err = excerpt.NewWriter(file, interfaces); err != nil {
			return nil, err
		}
		for number := range plan.numbers {
			out.wanted[number] = append(out.wanted[number], file)
		}
	}
	return out, nil
}

// copy copies the packets that are wanted of one file.
func (o *excerpts) copy(ctx context.Context, file int, source *pcapfile.Source) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := source.Next(&o.batch); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var failed error
		if err := source.Guard(func() { failed = o.take(file, source) }); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
}

func (o *excerpts) take(file int, source *pcapfile.Source) error {
	for i := range o.batch.Frames {
		frame := o.batch.Frames[i]
		number := o.files[file].Result.FirstNumber - 1 + frame.Number
		comments := source.Comments(frame.Number)
		frame.Interface += o.offsets[file]
		for _, into := range o.wanted[number] {
			said := into.claim.Comment(number, fmt.Sprintf("packet %d of %s", frame.Number, filepath.Base(o.files[file].Name)))
			if err := into.writer.Write(&frame, append([]string{said}, comments...)...); err != nil {
				return err
			}
		}
	}
	return nil
}
