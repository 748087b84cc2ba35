package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/tree"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/blocks"
)

// packets implements server.Packets. The database says which packets there are and what was found about them; what
// they hold is decoded again from the file, so that lists and details never disagree.
type packets struct{ store *store.Store }

// ListPackets implements server.Packets.
func (p *packets) ListPackets(ctx context.Context, c server.Account, path string, params api.ListPacketsParams) (api.PacketList, error) {
	id, err := flowID(params.FlowId)
	if err != nil {
		return api.PacketList{}, err
	}
	if params.After != nil && params.Before != nil {
		return api.PacketList{}, fmt.Errorf("%w: after and before cannot be given together", server.ErrBadRequest)
	}
	page, err := p.store.Packets(ctx, c.Id, store.PacketQuery{
		Flow: id, BothDirections: valueOr(params.BothDirections, false), Only: string(valueOr(params.Only, "")),
		After: uint64(valueOr(params.After, 0)), Before: uint64(valueOr(params.Before, 0)), Limit: valueOr(params.Limit, defaultPackets),
		From: params.From, To: params.To,
	})
	if err != nil {
		return api.PacketList{}, served(err)
	}
	total := int64(page.Total)
	out := api.PacketList{
		Packets: make([]api.PacketSummary, 0, len(page.Packets)), MoreBefore: page.MoreBefore, MoreAfter: page.MoreAfter, Total: &total,
	}
	var decoded dissector.Packet
	file, err := openFrames(&c, path)
	if err != nil {
		return out, err
	}
	for i := range page.Packets {
		row := &page.Packets[i]
		line := storedLine(row)
		if frame, err := file.read(row); err == nil {
			line = tree.Summary(&decoded, decode(&frame, row, &decoded))
		}
		out.Packets = append(out.Packets, summaryOf(row, line))
	}
	return out, file.close()
}

// Packet implements server.Packets.
func (p *packets) Packet(ctx context.Context, c server.Account, path string, number int64) (out api.PacketDetail, err error) {
	row, err := p.store.Packet(ctx, c.Id, uint64(number))
	if err != nil {
		return out, served(err)
	}
	file, err := openFrames(&c, path)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	frame, err := file.read(&row)
	if err != nil {
		return out, err
	}
	var decoded dissector.Packet
	fault := decode(&frame, &row, &decoded)
	if row.Flow != nil { // what it carries was said when its connection was set up
		f, err := p.store.Flow(ctx, c.Id, flow.ID(*row.Flow))
		if err != nil {
			return out, served(err)
		}
		decoded.Meta.Application = f.Application
	}
	out.Bytes, out.Summary = frame.Data, summaryOf(&row, tree.Summary(&decoded, fault))
	root := tree.Build(&decoded, fault)
	comments, err := file.comments(&row)
	if err != nil {
		return out, err
	}
	tree.AddComments(root, comments)
	fields, err := json.Marshal(root)
	if err != nil {
		return out, fmt.Errorf("fields of packet %d: %w", number, err)
	}
	return out, json.Unmarshal(fields, &out.Tree)
}

// frames reads packets out of the middle of a capture file.
type frames struct {
	file  *os.File
	size  int64
	index pcapfile.Index
}

// openFrames opens the file at path; an empty path stands for a file that is gone.
func openFrames(c *server.Account, path string) (*frames, error) {
	f := &frames{}
	if path == "" || c.AccessIndex == "" {
		return f, nil
	}
	if err := json.Unmarshal([]byte(c.AccessIndex), &f.index); err != nil {
		return nil, fmt.Errorf("index of capture %s: %w", c.Id, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open capture: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f.file, f.size = file, info.Size()
	return f, nil
}

func (f *frames) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

var errNoFile = errors.New("the capture's file is gone")

func (f *frames) read(row *store.Packet) (capture.Frame, error) {
	if f.file == nil {
		return capture.Frame{}, errNoFile
	}
	return f.index.ReadFrame(f.file, f.size, pcapfile.FrameRef{Offset: row.Offset, Interface: row.Interface})
}

// comments are what people wrote about the packet.
func (f *frames) comments(row *store.Packet) ([]string, error) {
	return f.index.ReadComments(f.file, f.size, pcapfile.FrameRef{Offset: row.Offset, Interface: row.Interface})
}

func decode(frame *capture.Frame, row *store.Packet, out *dissector.Packet) error {
	return dissector.Decode(frame.Data, dissector.Meta{
		Time: frame.Time, HasTime: frame.HasTime, Number: row.Number, OriginalLength: frame.OriginalLength,
		Interface: frame.Interface, LinkType: dissector.LinkType(frame.LinkType), FCSLength: frame.FCSLength,
	}, out)
}

// storedLine is a packet's line as far as the database alone can tell it.
func storedLine(row *store.Packet) tree.Line {
	line := tree.Line{
		Source: ipText(row.Source, row.SourceMAC), Destination: ipText(row.Destination, row.DestinationMAC),
		Protocol: row.Protocol, Info: row.OpcodeName,
	}
	if row.PacketType != "" {
		line.Info = row.PacketType
	}
	if row.PSN != nil && row.DestinationQP != nil {
		line.Info = strings.TrimSpace(fmt.Sprintf("%s PSN=0x%06x QP=0x%06x", line.Info, *row.PSN, *row.DestinationQP))
	}
	if line.Info == "" {
		line.Info = row.Fault
	}
	return line
}

func ipText(ip *net.IP, otherwise string) string {
	if ip == nil {
		return otherwise
	}
	return ip.String()
}

var flagNames = []struct {
	flag flow.Flags
	name api.PacketSummaryFlags
}{
	{flow.FlagRetransmitted, api.PacketSummaryFlagsRetransmitted},
	{flow.FlagAfterNAK, api.PacketSummaryFlagsAfterNak},
	{flow.FlagAfterRNR, api.PacketSummaryFlagsAfterRnr},
	{flow.FlagAfterTimeout, api.PacketSummaryFlagsAfterTimeout},
	{flow.FlagOutOfOrder, api.PacketSummaryFlagsOutOfOrder},
	{flow.FlagDuplicate, api.PacketSummaryFlagsDuplicate},
	{flow.FlagMirrorCopy, api.PacketSummaryFlagsMirrorCopy},
	{flow.FlagGapBefore, api.PacketSummaryFlagsGapBefore},
	{flow.FlagAckUnseen, api.PacketSummaryFlagsAckUnseen},
}

func summaryOf(row *store.Packet, line tree.Line) api.PacketSummary {
	icrc := api.PacketSummaryIcrc(row.ICRC)
	out := api.PacketSummary{
		Number: int64(row.Number), CapturedLength: int(row.CapturedLength), OriginalLength: int(row.OriginalLength),
		Source: line.Source, Destination: line.Destination, Protocol: line.Protocol, Info: line.Info,
		Opcode: pointerTo(row.OpcodeName), Psn: widened(row.PSN), DestinationQp: widened(row.DestinationQP),
		Verdict: api.PacketSummaryVerdict(row.Verdict), Icrc: &icrc, Flags: []api.PacketSummaryFlags{},
	}
	out.Metaroce = packetMetaRoCEOf(row)
	if row.Time != nil {
		at := row.Time.UTC()
		out.Time = &at
	}
	if row.Flow != nil {
		id := strconv.FormatUint(*row.Flow, 10)
		out.FlowId = &id
	}
	for _, f := range flagNames {
		if flow.Flags(row.Flags)&f.flag != 0 {
			out.Flags = append(out.Flags, f.name)
		}
	}
	if row.ECN != nil && *row.ECN == "CE" {
		out.Flags = append(out.Flags, api.PacketSummaryFlagsCe)
	}
	switch row.NAK {
	case "":
	case blocks.NakRNR:
		out.Flags = append(out.Flags, api.PacketSummaryFlagsRnr)
	default:
		out.Flags = append(out.Flags, api.PacketSummaryFlagsNak)
	}
	if row.Opcode != nil && infiniband.Opcode(*row.Opcode).IsCNP() {
		out.Flags = append(out.Flags, api.PacketSummaryFlagsCnp)
	}
	return out
}

func widened(n *uint32) *int {
	if n == nil {
		return nil
	}
	v := int(*n)
	return &v
}
