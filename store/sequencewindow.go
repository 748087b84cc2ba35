package store

import (
	"cmp"
	"slices"
)

// sequenceWindow collects the packets of a window one by one as long as they are few, and sums them up in bins.
type sequenceWindow struct {
	from, to int64            // ns since the Unix epoch, to exclusive
	tracks   [mostPaths]int16 // index of the track of a path, -1: not asked for
	width    int64            // of a bin, ns

	packets uint64
	single  []SequenceRow
	bins    []SequenceRow
	// last has for each track, kind and marks the bin that took the last packet, plus one, and places all bins:
	// most packets belong where the one before them did.
	last   []int32
	places map[sequencePlace]int32
}

type sequencePlace struct {
	at   int64
	slot int
}

// take adds a packet if it is in the window.
func (w *sequenceWindow) take(p *sequencePacket) {
	track := w.tracks[p.path]
	if !p.timed || p.at < w.from || p.at >= w.to || track < 0 {
		return
	}
	w.packets++
	if w.packets <= maxSequencePackets {
		w.single = append(w.single, w.row(p, p.at, int(track)))
	}
	w.sum(p, int(track))
}

func (w *sequenceWindow) row(p *sequencePacket, at int64, track int) SequenceRow {
	row := SequenceRow{At: at, Number: p.number, Kind: p.kind, Track: track, Marks: p.marks, Count: 1}
	if p.numbered {
		ends := [2]int64{p.seq, p.seq}
		row.Min, row.Max = &ends[0], &ends[1]
	}
	if len(p.first) > 0 {
		row.SACKFirst, row.SACKLast = slices.Clone(p.first), slices.Clone(p.last)
	}
	return row
}

// sum adds a packet to its bin.
func (w *sequenceWindow) sum(p *sequencePacket, track int) {
	at := floor(p.at, w.width)
	slot := (track*int(sequenceKinds)+int(p.kind))*int(sequenceMarks) + int(p.marks)
	bin := w.last[slot] - 1
	if bin < 0 || w.bins[bin].At != at {
		place := sequencePlace{at, slot}
		var known bool
		if bin, known = w.places[place]; !known {
			bin = int32(len(w.bins))
			w.bins = append(w.bins, w.row(p, at, track))
			w.places[place] = bin
			w.bins[bin].Count = 0
		}
		w.last[slot] = bin + 1
	}
	row := &w.bins[bin]
	row.Count++
	row.Number = min(row.Number, p.number)
	if p.numbered {
		*row.Min, *row.Max = min(*row.Min, p.seq), max(*row.Max, p.seq)
	}
	if len(p.first) == 0 {
		return
	}
	least, greatest := slices.Min(p.first), slices.Max(p.last)
	if len(row.SACKFirst) > 0 {
		least, greatest = min(least, row.SACKFirst[0]), max(greatest, row.SACKLast[0])
	}
	row.SACKFirst, row.SACKLast = append(row.SACKFirst[:0], least), append(row.SACKLast[:0], greatest)
}

// rows are those of the window in the order of their times, and the width of their bins, 0 when each is a packet.
func (w *sequenceWindow) rows() (rows []SequenceRow, bin int64) {
	rows = w.single
	if w.packets > maxSequencePackets {
		rows, bin = w.bins, w.width
	}
	slices.SortFunc(rows, func(a, b SequenceRow) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Number, b.Number)) })
	return rows, bin
}
