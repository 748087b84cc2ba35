package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// live shows clients what agents report, as they report it. However many watch, the database is asked once a second, and
// not at all while nobody does.
type live struct {
	agents Agents
	log    *slog.Logger

	mu      sync.Mutex
	views   map[uuid.UUID]*liveView // by agent; uuid.Nil: all agents
	clients int
	wake    chan struct{} // has an element when a client has come
}

// liveView is what clients see that watch the same.
type liveView struct {
	agent   uuid.UUID
	clients int       // guarded by live.mu
	left    time.Time // when the last client did; guarded by live.mu

	mu      sync.Mutex
	events  []liveEvent // ascending; the newest, as far as liveKept and liveKeptBytes allow
	latest  api.AgentsEvent
	changed chan struct{}
	newest  map[accountOf]api.AgentAccount // that were shown
}

// accountOf is an interface of an agent.
type accountOf struct {
	agent uuid.UUID
	name  string
}

// liveEvent is an event as it is sent.
type liveEvent struct {
	id   int64 // ns since the Unix epoch
	text []byte
}

func newLive(agents Agents, log *slog.Logger) *live {
	return &live{agents: agents, log: log, views: map[uuid.UUID]*liveView{}, wake: make(chan struct{}, 1)}
}

// join adds a client to those who watch an agent, or all.
func (l *live) join(agent uuid.UUID) (*liveView, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clients >= maxLiveClients {
		return nil, problemf(kindUnavailable, "%d clients watch agents already, and more are not served.", l.clients)
	}
	view := l.views[agent]
	if view == nil {
		view = &liveView{
			agent: agent, changed: make(chan struct{}), newest: map[accountOf]api.AgentAccount{},
		}
		l.views[agent] = view
	}
	l.clients++
	view.clients++
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return view, nil
}

func (l *live) leave(view *liveView) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients--
	view.clients--
	view.left = time.Now()
}

// run asks the database while anybody watches, until ctx ends.
func (l *live) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
			// Clients that come do not make the database be asked more often.
			timer.Reset(max(0, livePoll-time.Since(last)))
		case <-timer.C:
			last = time.Now()
			if l.poll(ctx) {
				timer.Reset(livePoll)
			}
		}
	}
}

// poll asks once, and tells whether anybody watches.
func (l *live) poll(ctx context.Context) bool {
	now := time.Now()
	l.mu.Lock()
	var query NewsQuery
	views := make([]*liveView, 0, len(l.views))
	for agent, view := range l.views {
		if view.clients == 0 && now.Sub(view.left) > liveMemory {
			delete(l.views, agent)
			continue
		}
		views = append(views, view)
		if agent == uuid.Nil {
			query.Together = true
		} else {
			query.Agents = append(query.Agents, agent)
		}
	}
	l.mu.Unlock()
	if len(views) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	news, err := l.agents.News(ctx, query)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			// Clients see that nothing comes, and that what they have grows old.
			l.log.LogAttrs(ctx, slog.LevelWarn, "what is new of the agents cannot be read", slog.String("error", err.Error()))
		}
		return true
	}
	for _, view := range views {
		if err := view.show(now, &news); err != nil {
			l.log.LogAttrs(ctx, slog.LevelError, "an event cannot be written", slog.String("error", err.Error()))
		}
	}
	return true
}

// show makes an event of the news for those who see the view.
func (v *liveView) show(now time.Time, news *News) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	event := api.AgentsEvent{At: now.UTC(), Agents: news.Agents, Accounts: []api.AgentAccount{}, Flows: news.Together}
	accounts := news.Newest
	if v.agent != uuid.Nil {
		accounts, event.Agents, event.Flows = news.Accounts, nil, news.Flows[v.agent]
		for i := range news.Agents {
			if news.Agents[i].Id == v.agent {
				event.Agents = news.Agents[i : i+1]
			}
		}
	}
	for i := range accounts {
		account := &accounts[i]
		key := accountOf{account.AgentId, account.Interface}
		if v.agent != uuid.Nil && v.agent != key.agent || !account.End.After(v.newest[key].End) {
			continue
		}
		event.Accounts = append(event.Accounts, *account)
		v.newest[key] = *account
	}
	if event.Agents == nil {
		event.Agents = []api.Agent{}
	}
	if event.Flows == nil {
		event.Flows = []api.AgentFlow{}
	}
	id := max(now.UnixNano(), v.lastID()+1)
	text, err := eventText(id, &event)
	if err != nil {
		return err
	}
	v.latest = event
	v.events = append(slices.Clone(v.events), liveEvent{id, text}) // clients may be reading what there was
	kept := 0
	for i := range v.events {
		kept += len(v.events[i].text)
	}
	for len(v.events) > 1 && (len(v.events) > liveKept || kept > liveKeptBytes) {
		kept -= len(v.events[0].text)
		v.events = v.events[1:]
	}
	close(v.changed)
	v.changed = make(chan struct{})
	return nil
}

func eventText(id int64, event *api.AgentsEvent) ([]byte, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	text := append([]byte("id: "), strconv.FormatInt(id, 10)...)
	text = append(append(text, "\nevent: agents\ndata: "...), data...)
	return append(text, "\n\n"...), nil
}

func (v *liveView) lastID() int64 {
	if len(v.events) == 0 {
		return 0
	}
	return v.events[len(v.events)-1].id
}

// after is the events that a client has not got, and what is closed when there are more. One that has none of those that
// are kept gets how things stand.
func (v *liveView) after(last int64) ([]liveEvent, <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.events {
		if v.events[i].id == last {
			return v.events[i+1:], v.changed
		}
	}
	if len(v.events) == 0 {
		return nil, v.changed
	}
	event := v.latest
	event.Accounts = slices.SortedFunc(maps.Values(v.newest), func(a, b api.AgentAccount) int {
		return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.AgentId.String(), b.AgentId.String()), cmp.Compare(a.Interface, b.Interface))
	})
	if event.Accounts == nil {
		event.Accounts = []api.AgentAccount{}
	}
	text, err := eventText(v.lastID(), &event)
	if err != nil {
		return v.events[len(v.events)-1:], v.changed
	}
	return []liveEvent{{v.lastID(), text}}, v.changed
}
