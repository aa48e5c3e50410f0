package kube

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unsafe"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/dynawire/dynawire/pkg/runtime/internal/scan"
)

// format is one of the two encodings in which an API server answers. client-go would decode whole objects, most of which
// is thrown away here; these find the objects in an answer and leave it to their reader what to take from them.
type format interface {
	contentType() string
	// event reads the next event of a watch.
	event(b *buffer) (event, error)
	// page reads a list and passes on its objects.
	page(text string, each func(object string) error) (metav1.ListMeta, error)
	// bookmark reads the metadata of an object that has nothing else.
	bookmark(object string) (metav1.ObjectMeta, error)
	status(object string) (*metav1.Status, error)
}

// event is one event of a watch. The object is the encoded one; it is valid until the buffer is reused.
type event struct {
	kind   watch.EventType
	object string
}

const (
	// The initial state comes as fast as it is read; afterwards an event now and then.
	firstBuffer, lastingBuffer = 256 << 10, 16 << 10
	// An API server's largest object is a few MiB.
	maxEvent = 64 << 20
)

var errTooLong = errors.New("an event of the API server is too long")

// buffer holds the part of an answer that was received and not yet read.
type buffer struct {
	from  io.Reader
	reuse func() // called before memory of what was read is used again, if not that of what was read since the last call
	data  []byte
	spare []byte // takes turns with data; nil where one is enough
	a, b  int    // unread
}

// newBuffer returns one for the initial state, or for what comes after it.
func newBuffer(from io.Reader, initial bool, reuse func()) *buffer {
	if initial {
		return &buffer{from: from, reuse: reuse, data: make([]byte, firstBuffer), spare: make([]byte, firstBuffer)}
	}
	return &buffer{from: from, reuse: reuse, data: make([]byte, lastingBuffer)}
}

// more receives at least one byte, and then has room for an event of so many bytes.
func (b *buffer) more(need int) error {
	b.reuse()
	if unread := b.data[b.a:b.b]; b.a > 0 {
		if b.spare != nil {
			if len(b.spare) < len(b.data) {
				b.spare = make([]byte, len(b.data))
			}
			b.data, b.spare = b.spare, b.data
		}
		b.a, b.b = 0, copy(b.data, unread)
	}
	if size := max(need, b.b+1); size > len(b.data) {
		if size > maxEvent {
			return errTooLong
		}
		grown := make([]byte, max(size, 2*len(b.data)))
		copy(grown, b.data[:b.b])
		b.data = grown
	}
	n, err := b.from.Read(b.data[b.b:])
	b.b += n
	if n > 0 {
		return nil
	}
	if err == io.EOF && b.b > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// shrink lets go of memory that only the initial state needed. What was read before is not valid any more.
func (b *buffer) shrink() {
	if unread := b.b - b.a; unread <= lastingBuffer && len(b.data) > lastingBuffer {
		data := make([]byte, lastingBuffer)
		copy(data, b.data[b.a:b.b])
		b.data, b.spare, b.a, b.b = data, nil, 0, unread
	}
}

// take returns the next n bytes as they stand in the buffer.
func (b *buffer) take(n int) string {
	b.a += n
	if n == 0 {
		return ""
	}
	return unsafe.String(&b.data[b.a-n], n) // a copy of everything is what this is to avoid
}

// jsonFormat is the encoding of custom resources. In a watch one event is one line.
type jsonFormat struct{}

func (jsonFormat) contentType() string { return k8sruntime.ContentTypeJSON }

func (jsonFormat) event(b *buffer) (event, error) {
	line := ""
	for searched := 0; line == ""; {
		if n := bytes.IndexByte(b.data[b.a+searched:b.b], '\n'); n >= 0 {
			line = strings.TrimSpace(b.take(searched + n + 1))
			searched = 0
			continue
		}
		searched = b.b - b.a
		if err := b.more(0); err != nil {
			return event{}, err
		}
	}
	var ev event
	s := scan.New(line)
	for s.Enter('{'); s.More('}'); {
		switch s.Key() {
		case "type":
			ev.kind = watch.EventType(s.String())
		case "object":
			if ev.kind != "" { // it ends where the line does: its reader will see, no need to look for it twice
				s.Peek()
				ev.object = strings.TrimSuffix(s.Rest(), "}")
				return ev, nil
			}
			ev.object = s.Raw()
		default:
			s.Skip()
		}
	}
	if !s.Done() {
		return ev, errMalformed
	}
	return ev, nil
}

func (jsonFormat) page(text string, each func(object string) error) (metav1.ListMeta, error) {
	var list metav1.ListMeta
	s := scan.New(text)
	for s.Enter('{'); s.More('}'); {
		switch s.Key() {
		case "metadata":
			if json.Unmarshal([]byte(s.Raw()), &list) != nil {
				return list, errMalformed
			}
		case "items":
			if s.Null() {
				continue
			}
			for s.Enter('['); s.More(']'); {
				if object := s.Raw(); object != "" {
					if err := each(object); err != nil {
						return list, err
					}
				}
			}
		default:
			s.Skip()
		}
	}
	if !s.Done() {
		return list, errMalformed
	}
	return list, nil
}

func (jsonFormat) bookmark(object string) (metav1.ObjectMeta, error) {
	var o metav1.PartialObjectMetadata
	err := json.Unmarshal([]byte(object), &o)
	return o.ObjectMeta, err
}

func (jsonFormat) status(object string) (*metav1.Status, error) {
	var st metav1.Status
	err := json.Unmarshal([]byte(object), &st)
	return &st, err
}

// protobufFormat is the encoding of built-in kinds: a seventh of the work. In a watch an event has its length in front.
type protobufFormat struct{}

func (protobufFormat) contentType() string { return k8sruntime.ContentTypeProtobuf }

const (
	lengthSize    = 4
	protobufMagic = "k8s\x00"
)

func (protobufFormat) event(b *buffer) (event, error) {
	for b.b-b.a < lengthSize {
		if err := b.more(lengthSize); err != nil {
			return event{}, err
		}
	}
	length := binary.BigEndian.Uint32(b.data[b.a:])
	if length > maxEvent-lengthSize {
		return event{}, errTooLong
	}
	size := int(length)
	for b.b-b.a < lengthSize+size {
		if err := b.more(lengthSize + size); err != nil {
			return event{}, err
		}
	}
	b.take(lengthSize)
	var ev event
	m := message{rest: b.take(size)}
	for m.next() {
		switch m.field {
		case 1:
			ev.kind = watch.EventType(m.text)
		case 2: // a k8s.io/apimachinery/pkg/runtime.RawExtension
			for raw := (message{rest: m.text}); raw.next(); {
				if raw.field == 1 {
					ev.object = raw.text
				}
			}
		}
	}
	object, ok := envelope(ev.object)
	if m.bad || !ok {
		return event{}, errMalformed
	}
	ev.object = object
	return ev, nil
}

// envelope returns what is in the envelope (k8s.io/apimachinery/pkg/runtime.Unknown) that every object comes in.
func envelope(text string) (string, bool) {
	text, ok := strings.CutPrefix(text, protobufMagic)
	if !ok {
		return "", false
	}
	raw := ""
	m := message{rest: text}
	for m.next() {
		if m.field == 2 {
			raw = m.text
		}
	}
	return raw, !m.bad
}

func (protobufFormat) page(text string, each func(object string) error) (metav1.ListMeta, error) {
	var list metav1.ListMeta
	text, ok := envelope(text)
	m := message{rest: text, bad: !ok}
	for m.next() {
		switch m.field {
		case 1:
			if list.Unmarshal([]byte(m.text)) != nil {
				return list, errMalformed
			}
		case 2:
			if err := each(m.text); err != nil {
				return list, err
			}
		}
	}
	if m.bad {
		return list, errMalformed
	}
	return list, nil
}

func (protobufFormat) bookmark(object string) (metav1.ObjectMeta, error) {
	var o metav1.PartialObjectMetadata
	err := o.Unmarshal([]byte(object))
	return o.ObjectMeta, err
}

func (protobufFormat) status(object string) (*metav1.Status, error) {
	var st metav1.Status
	err := st.Unmarshal([]byte(object))
	return &st, err
}

// problem is the error that an event carries.
func problem(f format, object string) error {
	st, err := f.status(object)
	if err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return apierrors.FromObject(st)
}
