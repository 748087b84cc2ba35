package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/flow"
)

// spoolMemory is how many bytes of encoded flows are kept in memory before they go to a temporary file.
const spoolMemory = 64 << 20

// jsonOutput prints the document. Flows are encoded as they come, so that their number costs disk, not memory.
type jsonOutput struct {
	memory bytes.Buffer
	file   *os.File
	count  uint64
}

func newJSONOutput() *jsonOutput { return &jsonOutput{} }

type jsonHead struct {
	Version        int               `json:"version"`
	Files          []jsonFile        `json:"files"`
	FirstPacketAt  *string           `json:"first_packet_at"`
	LastPacketAt   *string           `json:"last_packet_at"`
	CaptureDropped flow.Count        `json:"capture_dropped_packets"`
	Partial        bool              `json:"partial"`
	NotRDMA        []analysis.Beside `json:"not_rdma"`
	Totals         flow.Totals       `json:"totals"`
	Explained      jsonExplained     `json:"explained"`
	Pause          jsonPause         `json:"pause"`
}

type jsonExplained struct {
	MissingAcknowledged uint64 `json:"missing_psns_acknowledged"`
	ICRCRewritten       uint64 `json:"icrc_errors_port_rewritten"`
}

type jsonPause struct {
	Link       *analysis.Pauses     `json:"link"`
	Priorities []jsonPriorityPauses `json:"priorities"`
	NoClass    uint64               `json:"no_class_frames"`
}

type jsonPriorityPauses struct {
	Priority int `json:"priority"`
	analysis.Pauses
}

func jsonPauseOf(p *analysis.Pause) jsonPause {
	out := jsonPause{Priorities: []jsonPriorityPauses{}, NoClass: p.NoClass}
	if p.Link.Any() {
		out.Link = &p.Link
	}
	for i := range p.Priorities {
		if p.Priorities[i].Any() {
			out.Priorities = append(out.Priorities, jsonPriorityPauses{Priority: i, Pauses: p.Priorities[i]})
		}
	}
	return out
}

type jsonFile struct {
	Name        string          `json:"name"`
	Error       *string         `json:"error"`
	Format      *string         `json:"format"`
	Compression *string         `json:"compression"`
	Packets     uint64          `json:"packets"`
	FirstNumber *uint64         `json:"first_number"`
	Partial     bool            `json:"partial"`
	Fault       *string         `json:"fault"`
	FaultOffset *int64          `json:"fault_offset"`
	Skipped     []string        `json:"skipped"`
	Comments    []string        `json:"comments,omitempty"`
	Interfaces  []jsonInterface `json:"interfaces"`
}

type jsonInterface struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	LinkType    uint16  `json:"link_type"`
	SnapLength  uint32  `json:"snap_length"`
	Received    *uint64 `json:"received"`
	Dropped     *uint64 `json:"dropped"`
}

// Flow encodes a record.
func (o *jsonOutput) Flow(r *flow.Record) error {
	encoded, err := json.Marshal(document.NewFlow(r))
	if err != nil {
		return fmt.Errorf("encode flow: %w", err)
	}
	if o.count > 0 {
		o.memory.WriteByte(',')
	}
	o.memory.WriteString("\n    ")
	o.memory.Write(encoded)
	o.count++
	if o.memory.Len() < spoolMemory {
		return nil
	}
	if o.file == nil {
		if o.file, err = os.CreateTemp("", "rocelens-flows-*"); err != nil {
			return fmt.Errorf("spool flows: %w", err)
		}
		// Nobody else needs the name, and without one the file cannot outlive the process.
		if err := os.Remove(o.file.Name()); err != nil {
			return fmt.Errorf("spool flows: %w", err)
		}
	}
	if _, err := o.memory.WriteTo(o.file); err != nil {
		return fmt.Errorf("spool flows: %w", err)
	}
	return nil
}

// Close gives the spool back.
func (o *jsonOutput) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

func (o *jsonOutput) write(w io.Writer, files []fileResult, result *analysis.Result) error {
	head := jsonHead{
		Version: document.Version, Files: make([]jsonFile, 0, len(files)), CaptureDropped: result.Dropped(),
		Partial: result.Partial(), NotRDMA: result.Beside, Totals: result.Totals,
		Explained: jsonExplained(result.Explained), Pause: jsonPauseOf(&result.Pause),
	}
	if result.HasTime {
		head.FirstPacketAt, head.LastPacketAt = document.Time(result.FirstTime), document.Time(result.LastTime)
	}
	for i := range files {
		head.Files = append(head.Files, jsonFileOf(&files[i]))
		head.Partial = head.Partial || files[i].Err != nil
	}
	encoded, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	// The flows are text already: they are put in before the closing brace.
	parts := []io.Reader{bytes.NewReader(bytes.TrimSuffix(encoded, []byte("\n}"))), strings.NewReader(",\n  \"flows\": [")}
	if o.file != nil {
		if _, err := o.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read spooled flows: %w", err)
		}
		parts = append(parts, o.file)
	}
	parts = append(parts, &o.memory)
	if o.count > 0 {
		parts = append(parts, strings.NewReader("\n  "))
	}
	parts = append(parts, strings.NewReader("]\n}\n"))
	if _, err := io.Copy(w, io.MultiReader(parts...)); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

func jsonFileOf(f *fileResult) jsonFile {
	out := jsonFile{Name: f.Name, Skipped: []string{}, Interfaces: []jsonInterface{}}
	if f.Err != nil {
		text := f.Err.Error()
		out.Error = &text
		return out
	}
	r := &f.Result.Report
	out.Format, out.Packets, out.Partial = &r.Format, r.Packets, r.Partial
	if r.Compression != "" {
		out.Compression = &r.Compression
	}
	if r.Packets > 0 {
		out.FirstNumber = &f.Result.FirstNumber
	}
	if r.Partial {
		out.Fault, out.FaultOffset = &r.Fault, &r.FaultOffset
	}
	if r.Skipped != nil {
		out.Skipped = r.Skipped
	}
	out.Comments = r.Comments
	for i := range f.Result.Interfaces {
		out.Interfaces = append(out.Interfaces, jsonInterfaceOf(&f.Result.Interfaces[i]))
	}
	return out
}

func jsonInterfaceOf(i *capture.Interface) jsonInterface {
	return jsonInterface{
		Name: i.Name, Description: i.Description, LinkType: i.LinkType, SnapLength: i.SnapLength,
		Received: i.Received, Dropped: i.Dropped,
	}
}
