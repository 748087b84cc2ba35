// Package profile reads the description of a MetaRoCE wire profile and writes what is generated from it: the Go
// codec, the Wireshark plugin, the reference page and the console's field table.
//
// A description is YAML; README.md lists its keys. Reading is strict: unknown and doubled keys, fields that
// overlap or leave a gap, a header whose fields do not fill it and names that nothing has are errors that say where.
package profile

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// Profile is a description as it is written.
type Profile struct {
	Name          string                       `yaml:"profile"`
	Title         string                       `yaml:"title"`
	About         string                       `yaml:"about"`
	Filter        string                       `yaml:"filter"`
	UDPPort       int                          `yaml:"udp_port"`
	ICRC          string                       `yaml:"icrc"`
	PathPSNStride uint64                       `yaml:"path_psn_stride"`
	Types         []Type                       `yaml:"types"`
	Headers       []Header                     `yaml:"headers"`
	Flags         []Flag                       `yaml:"flags"`
	Enums         map[string]map[uint64]string `yaml:"enums"`
	Defaults      []Default                    `yaml:"defaults"`
}

// Type is a packet type.
type Type struct {
	Code      int      `yaml:"code"`
	Name      string   `yaml:"name"`
	Headers   []string `yaml:"headers"`
	Sequenced bool     `yaml:"sequenced"`
	Payload   bool     `yaml:"payload"`
	Opens     bool     `yaml:"opens"`
}

// Header is a header.
type Header struct {
	Name   string  `yaml:"name"`
	Title  string  `yaml:"title"`
	Length int     `yaml:"length"`
	When   string  `yaml:"when"`
	Fields []Field `yaml:"fields"`
}

// Field is a field of a header.
type Field struct {
	Name    string            `yaml:"name"`
	At      int               `yaml:"at"`
	Bit     int               `yaml:"bit"`
	Bits    int               `yaml:"bits"`
	Unit    string            `yaml:"unit"`
	Title   string            `yaml:"title"`
	Hex     bool              `yaml:"hex"`
	Enum    string            `yaml:"enum"`
	Special map[uint64]string `yaml:"special"`
	Equals  *uint64           `yaml:"equals"`
	Min     *uint64           `yaml:"min"`
	Max     *uint64           `yaml:"max"`
	OneOf   []uint64          `yaml:"one_of"`
	Only    string            `yaml:"only"`

	CountsFrom string `yaml:"counts_from"`
	First      uint64 `yaml:"first"`
}

// Flag is one bit of the flags.
type Flag struct {
	Bit      int      `yaml:"bit"`
	Name     string   `yaml:"name"`
	Title    string   `yaml:"title"`
	Means    string   `yaml:"means"`
	Except   []string `yaml:"except"`
	Header   string   `yaml:"header"`
	Types    []string `yaml:"types"`
	Requires string   `yaml:"requires"`
}

// Default is a parameter of the reference transport.
type Default struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
	Unit  string `yaml:"unit"`
	Title string `yaml:"title"`
}

// Values that keys may have.
const (
	icrcUDPPseudo   = "udp-pseudo"
	meansBegins     = "message_begins"
	meansEnds       = "message_ends"
	meansSentAgain  = "retransmission"
	onlyUnsequenced = "unsequenced"
	reservedName    = "reserved"
	commonName      = "CH"
)

// Parse reads a description. The error names every fault that it has.
func Parse(data []byte) (*Profile, error) {
	var p Profile
	if err := yaml.Load(data, &p, yaml.WithKnownFields(), yaml.WithUniqueKeys()); err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return &p, nil
}

// header finds a header by its name.
func (p *Profile) header(name string) *Header {
	for i := range p.Headers {
		if p.Headers[i].Name == name {
			return &p.Headers[i]
		}
	}
	return nil
}

// typ finds a packet type by its name.
func (p *Profile) typ(name string) *Type {
	for i := range p.Types {
		if p.Types[i].Name == name {
			return &p.Types[i]
		}
	}
	return nil
}

// flag finds a flag by its name.
func (p *Profile) flag(name string) *Flag {
	for i := range p.Flags {
		if p.Flags[i].Name == name {
			return &p.Flags[i]
		}
	}
	return nil
}

// field finds a field of the header by its name.
func (h *Header) field(name string) *Field {
	for i := range h.Fields {
		if h.Fields[i].Name == name {
			return &h.Fields[i]
		}
	}
	return nil
}

// start is the field's first bit, counted from the start of the header.
func (f *Field) start() int { return 8*f.At + f.Bit }

// common is the header that every packet begins with.
func (p *Profile) common() *Header { return &p.Headers[0] }

// message is the header with the place of a packet in its message.
func (p *Profile) message() *Header {
	for i := range p.Headers {
		if p.Headers[i].field("message_offset") != nil {
			return &p.Headers[i]
		}
	}
	return nil
}
