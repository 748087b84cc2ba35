package diff

// Version is raised when a field of the document changes its meaning or goes away, not when one is added.
const Version = 1

// Document is a comparison in its JSON form; docs/json.md describes it.
type Document struct {
	Version int              `json:"version"`
	A       DocumentSide     `json:"a"`
	B       DocumentSide     `json:"b"`
	Figures []DocumentFigure `json:"figures"`
	Rules   []DocumentRule   `json:"rules"`
	Notes   []string         `json:"notes"`
}

// DocumentSide names a side.
type DocumentSide struct {
	File         string  `json:"file"`
	ConnectionID *string `json:"connection_id"` // null: the whole capture
	Flows        uint64  `json:"flows"`
	Connections  uint64  `json:"connections"`
}

// DocumentFigure is a figure of both sides, with null for what cannot be told.
type DocumentFigure struct {
	Figure      string   `json:"figure"`
	Title       string   `json:"title"`
	Group       Group    `json:"group"`
	Unit        Unit     `json:"unit"`
	Better      Better   `json:"better"`
	A           *float64 `json:"a"`
	B           *float64 `json:"b"`
	Change      *float64 `json:"change"`
	ChangeShare *float64 `json:"change_share"`
	Unknown     *string  `json:"unknown"`
}

// DocumentRule is what came of a rule on both sides; null where it did not apply.
type DocumentRule struct {
	Rule     string         `json:"rule"`
	Title    string         `json:"title"`
	Severity string         `json:"severity"`
	A        *DocumentTally `json:"a"`
	B        *DocumentTally `json:"b"`
}

// DocumentTally counts verdicts of a rule.
type DocumentTally struct {
	Diverges             uint32 `json:"diverges"`
	Undetermined         uint32 `json:"undetermined"`
	Conforms             uint32 `json:"conforms"`
	Connections          uint64 `json:"connections"`
	DivergingConnections uint64 `json:"diverging_connections"`
}

// Document is the result in its JSON form; of the sides it has the counts, their names are the caller's to add.
func (r *Result) Document(a, b *Side) *Document {
	d := &Document{
		Version: Version, A: DocumentSide{Flows: a.Flows, Connections: a.Connections}, B: DocumentSide{Flows: b.Flows, Connections: b.Connections},
		Figures: make([]DocumentFigure, 0, len(r.Figures)), Rules: make([]DocumentRule, 0, len(r.Rules)), Notes: append([]string{}, r.Notes...),
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		one := DocumentFigure{
			Figure: f.Name, Title: f.Title, Group: f.Group, Unit: f.Unit, Better: f.Better,
			A: f.A.Pointer(), B: f.B.Pointer(), Change: f.Change().Pointer(), ChangeShare: f.ChangeShare().Pointer(),
		}
		if f.Unknown != "" {
			one.Unknown = &f.Unknown
		}
		d.Figures = append(d.Figures, one)
	}
	for i := range r.Rules {
		rule := r.Rules[i].Rule.Describe()
		d.Rules = append(d.Rules, DocumentRule{
			Rule: rule.ID, Title: rule.Title, Severity: rule.Severity.String(), A: r.Rules[i].A.document(), B: r.Rules[i].B.document(),
		})
	}
	return d
}

func (t *RuleTally) document() *DocumentTally {
	if t == nil {
		return nil
	}
	return &DocumentTally{
		Diverges: t.Diverges, Undetermined: t.Undetermined, Conforms: t.Conforms, Connections: t.Connections, DivergingConnections: t.Diverging,
	}
}

// Pointer is the value, or nil when it is unknown.
func (v Value) Pointer() *float64 {
	if !v.Known {
		return nil
	}
	return &v.N
}
