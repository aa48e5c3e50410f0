package kube

import "encoding/binary"

// message reads a protobuf message field by field:
//
//	for m := (message{rest: text}); m.next(); {
//		switch m.field {
//		case 1:
//			name = m.text
//		}
//	}
//
// It knows what Kubernetes writes: varints, fixed numbers and texts, no groups. After anything else it is bad.
type message struct {
	rest  string
	bad   bool
	field int
	text  string // of a string, bytes or message
	flag  bool   // of a varint: whether it is not 0
}

func (m *message) next() bool {
	if m.rest == "" || m.bad {
		return false
	}
	tag := m.varint()
	m.field, m.text, m.flag = int(tag>>3), "", false
	switch tag & 7 {
	case 0:
		m.flag = m.varint() != 0
	case 1:
		m.take(8)
	case 2:
		m.text = m.take(m.varint())
	case 5:
		m.take(4)
	default:
		m.bad = true
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		m.bad = true
	}
	return !m.bad
}

func (m *message) varint() uint64 {
	var n uint64
	for i := 0; i < len(m.rest) && i < binary.MaxVarintLen64; i++ {
		b := m.rest[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			m.rest = m.rest[i+1:]
			return n
		}
	}
	m.bad = true
	return 0
}

func (m *message) take(n uint64) string {
	if m.bad || n > uint64(len(m.rest)) {
		m.bad = true
		return ""
	}
	taken := m.rest[:n]
	m.rest = m.rest[n:]
	return taken
}
