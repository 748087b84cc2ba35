/* What the PSNs of one entry tell: gaps, what came late, duplicates. */
#ifndef ROCELENS_SEQUENCE_H
#define ROCELENS_SEQUENCE_H

#include "entry.h"

#define FURTHEST_JUMP (1 << 18) /* a PSN further ahead begins a new life of the QP, not a gap */
#define FURTHEST_BACK (1 << 16)
#define METAROCE_REACH (1 << 16)

/* How far b is ahead of a in PSNs of 32 - shift bits. */
inline_always s32 ahead(u32 a, u32 b, u32 shift) { return (s32)((b - a) << shift) >> shift; }

inline_always void forget_holes(struct entry *e, u32 lowest)
{
	e->holes = 0;
	e->old_holes = 0;
	e->lowest = lowest;
}

/* Takes hole i out. */
inline_always void close_hole(struct entry *e, u32 i)
{
	u8 below = (1 << i) - 1;

	for (u32 k = 0; k < HOLES - 1; k++)
		if (k >= i)
			e->hole[k] = e->hole[k + 1];
	e->old_holes = (e->old_holes & below) | (e->old_holes >> 1 & ~below);
	e->holes--;
}

/* Adds a hole behind all others; the oldest makes room. */
inline_always void open_hole(struct entry *e, u32 start, u32 length, u8 old)
{
	u32 n = e->holes;

	if (n >= HOLES) {
		u32 end = e->hole[0].start + e->hole[0].length;

		if ((s32)(end - e->lowest) > 0)
			e->lowest = end;
		close_hole(e, 0);
		n = HOLES - 1;
	}
	n &= HOLES - 1;
	e->hole[n].start = start;
	e->hole[n].length = length;
	e->old_holes = (e->old_holes & ~(1 << n)) | old << n;
	e->holes = n + 1;
}

/* A packet from before the one that is expected. It answers whether the packet was counted before. */
inline_always u8 behind(struct entry *e, u32 psn, u32 shift)
{
	u32 n = e->holes;

	for (u32 i = 0; i < HOLES; i++) {
		u32 into;
		u8 old;

		if (i >= n)
			break;
		into = (psn - e->hole[i].start) << shift >> shift;
		if (into >= e->hole[i].length)
			continue;
		old = e->old_holes >> i & 1;
		e->late++;
		if (!old)
			e->missing--;
		if (e->hole[i].length == 1) {
			close_hole(e, i);
		} else if (into == 0) {
			e->hole[i].start = psn + 1;
			e->hole[i].length--;
		} else {
			u32 rest = e->hole[i].length - into - 1;

			e->hole[i].length = into;
			/* The rest goes behind the others: order matters only for which is forgotten first. */
			if (rest)
				open_hole(e, psn + 1, rest, old);
		}
		return 0;
	}
	if (ahead(e->lowest, psn, shift) < 0) { /* from before all that is known */
		e->flags |= UNSURE;
		return 1;
	}
	e->duplicates++;
	return 1;
}

/* Takes a PSN other than the expected one. It answers whether the packet was counted before, as far as that is known.
 * apart: the packet may leave PSNs out, since they need not be anybody's. */
inline_always u8 unexpected(struct hot *h, struct entry *e, u32 psn, u32 shift, u8 apart)
{
	s32 d = ahead(h->next, psn, shift);
	s32 jump = shift ? FURTHEST_JUMP : METAROCE_REACH, back = shift ? FURTHEST_BACK : METAROCE_REACH;

	if (!(h->state & HAS_SEQUENCE)) {
		h->state = HAS_SEQUENCE;
		e->flags |= SEQUENCE;
		forget_holes(e, psn);
		return 0;
	}
	if (d >= jump || d < -back) {
		e->flags |= RESTARTED;
		forget_holes(e, psn);
		return 0;
	}
	if (d < 0) {
		u8 again;

		if (apart) { /* what lies between may have been nobody's, or this */
			e->flags |= UNSURE;
			return 0;
		}
		again = behind(e, psn, shift);
		return again | 2;
	}
	if (apart) {
		forget_holes(e, psn);
	} else if (d > 0 && (u32)d > e->span) {
		e->gaps++;
		e->missing += d;
		open_hole(e, h->next, d, 0);
	}
	return 0;
}

#endif
