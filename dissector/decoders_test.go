package dissector_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/dissector/rocelayer"
)

// decoder is one of the decoders of this package and those below it. run decodes into a value that it keeps for all its
// inputs and answers how many bytes it read; same tells whether a value that knew nothing before would be equal to it.
type decoder struct {
	run  func(b []byte) (n int, err error)
	same func(b []byte) bool
}

func of[T any, P interface {
	*T
	Decode(b []byte) (int, error)
}]() decoder {
	kept := P(new(T))
	return decoder{
		run: kept.Decode,
		same: func(b []byte) bool {
			alone := P(new(T))
			_, _ = alone.Decode(b)
			return reflect.DeepEqual(alone, kept)
		},
	}
}

func layer[T any, P interface {
	*T
	DecodeFromBytes(b []byte, df gopacket.DecodeFeedback) error
}]() decoder {
	kept := P(new(T))
	return decoder{
		run: func(b []byte) (int, error) { return 0, kept.DecodeFromBytes(b, gopacket.NilDecodeFeedback) },
		same: func(b []byte) bool {
			alone := P(new(T))
			_ = alone.DecodeFromBytes(b, gopacket.NilDecodeFeedback)
			return reflect.DeepEqual(alone, kept)
		},
	}
}

func ofMR0(decode func(b []byte, p *mr0.Packet) error) decoder {
	kept := new(mr0.Packet)
	return decoder{
		run: func(b []byte) (int, error) { return 0, decode(b, kept) },
		same: func(b []byte) bool {
			var alone mr0.Packet
			_ = decode(b, &alone)
			return alone == *kept
		},
	}
}

// whole is Decode for every link type.
func whole() decoder {
	types := []dissector.LinkType{
		dissector.LinkTypeNull, dissector.LinkTypeEthernet, dissector.LinkTypeRaw, dissector.LinkTypeLoop, dissector.LinkTypeLinuxSLL, dissector.LinkTypePPI,
		dissector.LinkTypeERF, dissector.LinkTypeIPv4, dissector.LinkTypeIPv6, dissector.LinkTypeSLL2,
	}
	kept := make([]dissector.Packet, len(types))
	return decoder{
		run: func(b []byte) (int, error) {
			var err error
			for i, t := range types {
				err = dissector.Decode(b, dissector.Meta{LinkType: t}, &kept[i])
			}
			return 0, err
		},
		same: func(b []byte) bool {
			for i, t := range types {
				var alone dissector.Packet
				_ = dissector.Decode(b, dissector.Meta{LinkType: t}, &alone)
				if !samePacket(&alone, &kept[i]) {
					return false
				}
			}
			return true
		},
	}
}

// decoders are all of them, by package, type and name.
func decoders() map[string]decoder {
	return map[string]decoder{
		"dissector.Decode":               whole(),
		"infiniband.AETH.Decode":         of[infiniband.AETH](),
		"infiniband.AtomicAckETH.Decode": of[infiniband.AtomicAckETH](),
		"infiniband.AtomicETH.Decode":    of[infiniband.AtomicETH](),
		"infiniband.BTH.Decode":          of[infiniband.BTH](),
		"infiniband.DETH.Decode":         of[infiniband.DETH](),
		"infiniband.FETH.Decode":         of[infiniband.FETH](),
		"infiniband.IETH.Decode":         of[infiniband.IETH](),
		"infiniband.ImmDt.Decode":        of[infiniband.ImmDt](),
		"infiniband.RDETH.Decode":        of[infiniband.RDETH](),
		"infiniband.RETH.Decode":         of[infiniband.RETH](),
		"infiniband.XRCETH.Decode":       of[infiniband.XRCETH](),
		"mad.APR.Decode":                 of[mad.APR](),
		"mad.DREP.Decode":                of[mad.DREP](),
		"mad.DREQ.Decode":                of[mad.DREQ](),
		"mad.Header.Decode":              of[mad.Header](),
		"mad.IPCM.Decode":                of[mad.IPCM](),
		"mad.LAP.Decode":                 of[mad.LAP](),
		"mad.MRA.Decode":                 of[mad.MRA](),
		"mad.REJ.Decode":                 of[mad.REJ](),
		"mad.REP.Decode":                 of[mad.REP](),
		"mad.REQ.Decode":                 of[mad.REQ](),
		"mad.RTU.Decode":                 of[mad.RTU](),
		"mad.SIDRREP.Decode":             of[mad.SIDRREP](),
		"mad.SIDRREQ.Decode":             of[mad.SIDRREQ](),
		"mr0.Decode":                     ofMR0(mr0.Decode),
		"mr0.DecodeCaptured":             ofMR0(func(b []byte, p *mr0.Packet) error { return mr0.DecodeCaptured(b, len(b)+9, p) }),
		"rocelayer.GRH.DecodeFromBytes":  layer[rocelayer.GRH](),
		"rocelayer.RoCE.DecodeFromBytes": layer[rocelayer.RoCE](),
	}
}

// declared finds the decoders in the source, and the fuzz targets of each package.
func declared(tb testing.TB) (names []string, fuzzed map[string][]string) {
	tb.Helper()
	exported := regexp.MustCompile(`^Decode(Captured|FromBytes)?$`)
	fuzzed = map[string][]string{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.Contains(path, "testdata") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		isTest := strings.HasSuffix(path, "_test.go")
		pkg := strings.TrimSuffix(file.Name.Name, "_test")
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case isTest && strings.HasPrefix(f.Name.Name, "Fuzz"):
				fuzzed[pkg] = append(fuzzed[pkg], f.Name.Name)
			case !isTest && exported.MatchString(f.Name.Name):
				name := pkg + "."
				if f.Recv != nil {
					if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
						if id, ok := star.X.(*ast.Ident); ok {
							name += id.Name + "."
						}
					}
				}
				names = append(names, name+f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names, fuzzed
}

// TestEveryDecoderIsTested holds the list of decoders against the source, and looks for the fuzz target of each: one of
// its own for a transport header, one of its package, which runs them all, for the others.
func TestEveryDecoderIsTested(t *testing.T) {
	names, fuzzed := declared(t)
	listed := decoders()
	if len(names) != len(listed) {
		t.Errorf("%d decoders in the source, %d listed", len(names), len(listed))
	}
	messages, err := os.ReadFile(filepath.Join("mad", "codec_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, ok := listed[name]; !ok {
			t.Errorf("%s is not listed", name)
		}
		part := strings.Split(name, ".")
		switch {
		case len(fuzzed[part[0]]) == 0:
			t.Errorf("package %s has a decoder and no fuzz target", part[0])
		case part[0] == "infiniband" && !slices.Contains(fuzzed["infiniband"], "Fuzz"+part[1]):
			t.Errorf("%s has no fuzz target", name)
		case part[0] == "mad" && !strings.Contains(string(messages), ", "+part[1]+".AppendTo)"):
			t.Errorf("%s is not among the codecs that package mad's tests and its fuzz target run", name)
		}
	}
	for name := range listed {
		if !slices.Contains(names, name) {
			t.Errorf("%s is listed and not there", name)
		}
	}
}

// TestEveryPrefixOfEveryGoldenPacketGoesToEveryDecoder cuts every frame of testdata, and what starts at each of its
// headers, everywhere, and gives it to every decoder, whoever it was made for. None may fall, read past the end or answer
// anything but its errors, and what one has read before must make no difference.
func TestEveryPrefixOfEveryGoldenPacketGoesToEveryDecoder(t *testing.T) {
	const head, tail = 300, 8 // within payload one length is like another
	step := 1
	if os.Getenv("ROCELENS_RACE") != "" {
		step = 5 // `make seeded` tries all, without the race detector, which makes them ten times as long
	}
	all := decoders()
	count := 0
	seen := map[string]bool{}
	var p dissector.Packet
	for _, file := range filesWith(t, "testdata", ".pcap") {
		for _, f := range readCapture(t, file) {
			_ = dissector.Decode(f.data, f.meta, &p)
			starts, names := []int{0}, []string{p.BTH.Opcode.String()}
			for _, l := range layersOf(&p) {
				starts = append(starts, int(l.Offset))
				names = append(names, l.Type.String())
			}
			shape := strings.Join(names, " ")
			if seen[shape] && len(p.Payload()) > 0 {
				continue // another of its kind
			}
			seen[shape] = true
			slices.Sort(starts)
			for _, start := range slices.Compact(starts) {
				rest := f.data[start:]
				for n := range len(rest) + 1 {
					if n > head && n < len(rest)-tail || n%step != 0 && n != len(rest) {
						continue
					}
					for name, d := range all {
						used, err := d.run(rest[:n:n])
						if used > n || !known(err) {
							t.Fatalf("%s of %x: %d bytes, %v", name, rest[:n], used, err)
						}
						if (n%16 == 0 || n == len(rest)) && !d.same(rest[:n:n]) {
							t.Fatalf("%s of %x depends on what it read before", name, rest[:n])
						}
						count++
					}
				}
			}
		}
	}
	t.Logf("%d prefixes of %d kinds of packets", count, len(seen))
}

// known tells whether an error is one that a decoder of these packages may answer.
func known(err error) bool {
	return err == nil || slices.ContainsFunc([]error{
		infiniband.ErrTruncated, metaroce.ErrTruncated, metaroce.ErrMalformed,
		dissector.ErrTruncated, dissector.ErrMalformed, dissector.ErrUnsupported, dissector.ErrNotRDMA,
	}, func(e error) bool { return errors.Is(err, e) })
}
