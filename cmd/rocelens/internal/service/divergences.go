package service

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// replays implements server.Replays.
type replays struct{ store *store.Store }

// ListRules implements server.Replays.
func (r *replays) ListRules(ctx context.Context, capture uuid.UUID) (api.RuleList, error) {
	rules, err := r.store.Rules(ctx, capture)
	if err != nil {
		return api.RuleList{}, served(err)
	}
	return api.RuleList{Rules: rulesOf(rules)}, nil
}

// rulesOf describes rules as the catalogue does.
func rulesOf(rules []store.Rule) []api.Rule {
	out := make([]api.Rule, 0, len(rules))
	for i := range rules {
		found := &rules[i]
		rule, known := finding.Find(found.Rule)
		if !known {
			continue // of an older version of the catalogue
		}
		d := rule.Describe()
		out = append(out, api.Rule{
			Rule: d.ID, Title: d.Title, Severity: api.Severity(d.Severity.String()), Source: d.Source, Next: d.Next,
			Diverges: int64(found.Diverges), Undetermined: int64(found.Undetermined), Conforms: wide(&found.Conforms),
			Connections: int64(found.Connections), DivergingConnections: int64(found.Diverging),
		})
	}
	return out
}

// ListDivergences implements server.Replays.
func (r *replays) ListDivergences(ctx context.Context, capture uuid.UUID, params api.ListDivergencesParams) (api.DivergenceList, error) {
	query, err := divergenceQuery(params.Rule, params.Verdict, params.ConnectionId, params.Offset, params.Limit)
	if err != nil {
		return api.DivergenceList{}, err
	}
	page, err := r.store.Divergences(ctx, capture, query)
	if err != nil {
		return api.DivergenceList{}, served(err)
	}
	out := api.DivergenceList{Divergences: make([]api.Divergence, 0, len(page.Divergences)), Total: int64(page.Total)}
	for i := range page.Divergences {
		out.Divergences = append(out.Divergences, divergenceOf(&page.Divergences[i]))
	}
	return out, nil
}

// divergenceQuery is what the parameters of lists of divergences ask for.
func divergenceQuery(rule *string, verdict *api.FoundVerdict, connection *string, offset, limit *int) (store.DivergenceQuery, error) {
	query := store.DivergenceQuery{Rule: valueOr(rule, ""), Verdict: string(valueOr(verdict, "")), Offset: valueOr(offset, 0), Limit: valueOr(limit, defaultRows)}
	if connection != nil {
		id, err := strconv.ParseUint(*connection, 10, 64)
		if err != nil {
			return query, fmt.Errorf("%w: %s is too large for a connection", server.ErrBadRequest, *connection)
		}
		query.Connection = finding.ConnectionID(id)
	}
	return query, nil
}

func divergenceOf(d *store.Divergence) api.Divergence {
	out := api.Divergence{
		Id:           strconv.FormatUint(d.ID, 10),
		ConnectionId: strconv.FormatUint(d.ConnectionID, 10), Rule: d.Rule, Severity: api.Severity(d.Severity),
		Verdict: api.FoundVerdict(finding.Verdict(d.Verdict).String()), Address: d.Address.String(), Qp: wide(d.QP), PathId: narrow(d.Path), Time: d.Time,
		Packets: make([]int64, 0, len(d.Packets)), Expected: d.Expected, Seen: d.Seen, Sentence: d.Sentence, Source: d.Source, Next: d.Next,
	}
	for _, n := range d.Packets {
		out.Packets = append(out.Packets, int64(n))
	}
	return out
}
