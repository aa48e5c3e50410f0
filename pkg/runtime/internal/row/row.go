// Package row is the compact form in which a component's instances are kept: an instance of twenty thousand costs some
// hundred and fifty bytes beside what it published. runtime.Instance is made of it when somebody looks.
package row

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"unique"

	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

// Row is one state of one instance. Once it was handed to a table it is not changed any more, but for Version.
type Row struct {
	Self  *Self
	where unique.Handle[Where]
	six   *netip.Addr
	// Revision is the table's.
	Revision uint64
	// Version is the join's: that of the slice when it last changed what it says.
	Version uint64
	four    [4]byte
	flags   uint8
}

const (
	isReady = 1 << iota
	isTerminating
	isShown
	hasFour
)

// Where is what many instances have in common.
type Where struct {
	KubeNamespace        string
	Namespace, Component string // Dynamo's
	Node, Zone           string
}

// New returns a row that is not ready. It shares no memory with the strings of where.
func New(self *Self, where Where) *Row { return &Row{Self: self, where: unique.Make(where)} }

// With is the same state of who self is.
func (r *Row) With(self *Self) *Row {
	next := *r
	next.Self = self
	return &next
}

// Where returns what it has in common with others.
func (r *Row) Where() Where { return r.where.Value() }

// UID is the pod's.
func (r *Row) UID() UID { return r.Self.uid }

// Ready says whether to send it traffic.
func (r *Row) Ready() bool { return r.flags&isReady != 0 }

// Terminating instances are not ready.
func (r *Row) Terminating() bool { return r.flags&isTerminating != 0 }

// Shown is the join's: the row is an instance that a table knows.
func (r *Row) Shown() bool { return r.flags&isShown != 0 }

// SetReady sets both. What terminates is not ready.
func (r *Row) SetReady(ready, terminating bool) {
	r.set(isReady, ready && !terminating)
	r.set(isTerminating, terminating)
}

// SetShown sets Shown.
func (r *Row) SetShown(shown bool) { r.set(isShown, shown) }

func (r *Row) set(flag uint8, on bool) {
	r.flags &^= flag
	if on {
		r.flags |= flag
	}
}

// Four is the IPv4 address, if it has one; Six is any other.
func (r *Row) Four() netip.Addr {
	if r.flags&hasFour == 0 {
		return netip.Addr{}
	}
	return netip.AddrFrom4(r.four)
}

// Six is the address of the other family, if it has one.
func (r *Row) Six() netip.Addr {
	if r.six == nil {
		return netip.Addr{}
	}
	return *r.six
}

// AddAddress sets the address of its family.
func (r *Row) AddAddress(a netip.Addr) {
	switch {
	case a.Is4():
		r.four = a.As4()
		r.flags |= hasFour
	case a.IsValid():
		r.six = &a
	}
}

// Addresses lists both, IPv4 first.
func (r *Row) Addresses() []netip.Addr {
	var all []netip.Addr
	for _, a := range [...]netip.Addr{r.Four(), r.Six()} {
		if a.IsValid() {
			all = append(all, a)
		}
	}
	return all
}

// SameState compares all but who it is and what it published.
func (r *Row) SameState(o *Row) bool {
	return r.SamePlace(o) && (r.flags^o.flags)&(isReady|isTerminating) == 0
}

// SamePlace compares where it is, and not how it does.
func (r *Row) SamePlace(o *Row) bool {
	return r.where == o.where && r.Four() == o.Four() && r.Six() == o.Six()
}

// Self is who an instance is and what it published; it never changes, but for what only the registry looks at.
type Self struct {
	// Metadata is labelled with the name, and behind it the UID where that is no UUID.
	Metadata wire.Metadata
	uid      UID
	name     uint16 // length

	// Generation is when the registry last heard of it, and Sum tells objects of one name apart.
	Generation uint16
	Sum        uint32
}

// NewSelf copies what it is given, to the pile if there is one. The document may be empty.
func NewSelf(name, uid, document string, pile *wire.Pile) *Self {
	id, exact := ParseUID(uid)
	label := name
	if !exact {
		label += uid
	}
	return &Self{Metadata: pile.Labelled(label, document), uid: id, name: uint16(len(name))}
}

// Name is the pod's.
func (s *Self) Name() string { return s.Metadata.Label()[:s.name] }

// UID is the pod's, compactly.
func (s *Self) UID() UID { return s.uid }

// UIDText is the pod's UID as it was given.
func (s *Self) UIDText() string {
	label := s.Metadata.Label()
	if len(label) > int(s.name) {
		return label[s.name:]
	}
	return s.uid.String()
}

var nameSeed = maphash.MakeSeed()

// Sum is a short digest.
func Sum(text string) uint32 { return uint32(maphash.String(nameSeed, text)) }

// ByUID is an index of rows.
func ByUID() Index[UID, Row] { return NewIndex((*Row).UID, UID.hash) }

// ByName is an index of selves.
func ByName() Index[string, Self] {
	return NewIndex((*Self).Name, func(name string) uint64 { return maphash.String(nameSeed, name) })
}

// Sorted sorts rows by name and UID.
func Sorted(rows []*Row) []*Row {
	slices.SortFunc(rows, func(a, b *Row) int {
		if a, b := a.Self.Name(), b.Self.Name(); a != b {
			if a < b {
				return -1
			}
			return 1
		}
		return slices.Compare(a.Self.uid[:], b.Self.uid[:])
	})
	return rows
}
