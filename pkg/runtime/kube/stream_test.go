package kube

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func protobufEvent(t testing.TB, kind string, object []byte) []byte {
	unknown, err := (&k8sruntime.Unknown{TypeMeta: k8sruntime.TypeMeta{Kind: "EndpointSlice"}, Raw: object}).Marshal()
	require.NoError(t, err)
	ev, err := (&metav1.WatchEvent{
		Type: kind, Object: k8sruntime.RawExtension{Raw: append([]byte(protobufMagic), unknown...)},
	}).Marshal()
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(ev))), ev...)
}

func nothing() {}

// However an answer is cut into pieces, its events are the same.
func TestEventsOfAStream(t *testing.T) {
	large := strings.Repeat("x", firstBuffer+17)
	objects := []string{"1", large, `{"a":"\n}"}`, "4"}
	for _, f := range []format{jsonFormat{}, protobufFormat{}} {
		var stream bytes.Buffer
		for _, o := range objects {
			if f == (jsonFormat{}) {
				fmt.Fprintf(&stream, `{"type":"ADDED","object":{"o":%q}}`+"\n", o)
			} else {
				stream.Write(protobufEvent(t, "ADDED", []byte(o)))
			}
		}
		for name, cut := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "bytes": iotest.OneByteReader,
			"with the end": iotest.DataErrReader,
		} {
			b := buffer{from: cut(bytes.NewReader(stream.Bytes())), reuse: nothing}
			for i, o := range objects {
				ev, err := f.event(&b)
				require.NoError(t, err, name)
				assert.Equal(t, watch.Added, ev.kind)
				if f == (jsonFormat{}) {
					o = fmt.Sprintf(`{"o":%q}`, o)
				}
				if ev.object != o { // not with assert: it would print all of it
					t.Fatalf("%T %s: event %d is another", f, name, i)
				}
				if i == 2 {
					b.shrink()
				}
			}
			_, err := f.event(&b)
			require.ErrorIs(t, err, io.EOF, name)
			assert.LessOrEqual(t, len(b.data), 4*len(large))
		}
		b := buffer{from: bytes.NewReader(stream.Bytes()[:stream.Len()-1]), reuse: nothing}
		var err error
		for err == nil {
			_, err = f.event(&b)
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut off in an event")
	}
}

func TestEventsThatAreNone(t *testing.T) {
	for _, text := range []string{"[]\n", "{\"type\":7}\n", "x\n", `{"object":{"a":1,"type":"ADDED"}` + "\n"} {
		_, err := jsonFormat{}.event(newBuffer(strings.NewReader(text), false, nothing))
		require.ErrorIs(t, err, errMalformed, text)
	}
	ev, err := jsonFormat{}.event(newBuffer(strings.NewReader(`{"object":{"a":1}, "type":"DELETED"}`+"\n"), false, nothing))
	require.NoError(t, err)
	assert.Equal(t, event{watch.Deleted, `{"a":1}`}, ev)

	_, err = protobufFormat{}.event(newBuffer(strings.NewReader(`{"type":"ADDED"}`), false, nothing))
	require.ErrorIs(t, err, errTooLong, "JSON is no protobuf")
	_, err = protobufFormat{}.event(newBuffer(strings.NewReader("\x00\x00\x00\x02\x0a\x09"), false, nothing))
	require.ErrorIs(t, err, errMalformed)
	_, err = jsonFormat{}.event(newBuffer(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("boom"))), false, nothing))
	require.ErrorContains(t, err, "boom")
}

// An API server that was away for long and then says that it has forgotten is there again: no reason to wait as long once more.
func TestForgottenVersionIsNoReasonToWait(t *testing.T) {
	f := follower{version: []byte("7"), failures: 20, log: slog.New(slog.DiscardHandler)}
	assert.LessOrEqual(t, f.assess(apierrors.NewResourceExpired("too old")), minDelay)
	assert.Empty(t, f.version)
	assert.Greater(t, (&follower{failures: 20, log: f.log}).assess(errMalformed), maxDelay/3)
}
