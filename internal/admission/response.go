package admission

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/validate"
)

// answer is what a hook says to the API server.
type answer struct {
	allowed bool
	// reason is why, for the metrics: one of a few.
	reason string
	patch  []jsonpatch.Operation
	// denials are the findings that refuse the object of this group, kind and name.
	denials           []validate.Finding
	group, kind, name string
	// warnings are shown to the client.
	warnings []string
	// rules are the findings' ids, for the API server's audit log.
	rules []string
}

// allow is the answer for what passes untouched.
func allow(reason string) answer { return answer{allowed: true, reason: reason} }

// decision is the answer in one word, for the metrics.
func (a *answer) decision() string {
	switch {
	case !a.allowed:
		return "denied"
	case len(a.patch) > 0:
		return "patched"
	default:
		return "allowed"
	}
}

// appendReview appends the AdmissionReview that carries an answer. It is written by hand because marshalling the types of
// k8s.io/api through reflection costs more than everything else that a request needs. The patch, which goes in as base64,
// is put together in scratch.
func appendReview(dst []byte, scratch *bytes.Buffer, uid string, a *answer) ([]byte, error) {
	dst = append(dst, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":`...)
	dst = appendString(dst, uid)
	dst = append(dst, `,"allowed":`...)
	dst = strconv.AppendBool(dst, a.allowed)
	if len(a.patch) > 0 {
		dst = append(dst, `,"patchType":"JSONPatch","patch":"`...)
		scratch.Reset()
		if err := writePatch(scratch, a.patch); err != nil {
			return nil, err
		}
		dst = append(base64.StdEncoding.AppendEncode(dst, scratch.Bytes()), '"')
	}
	if !a.allowed {
		dst = appendStatus(dst, a)
	}
	if len(a.warnings) > 0 {
		dst = append(dst, `,"warnings":`...)
		dst = appendStrings(dst, a.warnings)
	}
	if len(a.rules) > 0 {
		// The API server puts the webhook's name in front of the key.
		dst = append(dst, `,"auditAnnotations":{"findings":`...)
		dst = appendString(dst, strings.Join(a.rules, ","))
		dst = append(dst, '}')
	}
	return append(dst, "}}"...), nil
}

// writePatch writes a JSON patch.
func writePatch(b *bytes.Buffer, patch []jsonpatch.Operation) error {
	b.WriteByte('[')
	for i := range patch {
		op := &patch[i]
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"op":`)
		writeString(b, op.Operation)
		b.WriteString(`,"path":`)
		writeString(b, op.Path)
		if op.Operation != "remove" {
			b.WriteString(`,"value":`)
			if err := writeValue(b, op.Value); err != nil {
				return fmt.Errorf("encode the value of %s %s: %w", op.Operation, op.Path, err)
			}
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	return nil
}

// writeValue writes any value as JSON. Most are strings.
func writeValue(b *bytes.Buffer, v any) error {
	if s, ok := v.(string); ok {
		writeString(b, s)
		return nil
	}
	return json.MarshalWrite(b, v, deterministic)
}

// deterministic keeps the order of a map's keys the same from one answer to the next.
var deterministic = json.Deterministic(true)

func writeString(b *bytes.Buffer, s string) { b.Write(appendString(b.AvailableBuffer(), s)) }

// appendStatus appends the metav1.Status of a refusal, with a cause for every finding. It is 422 Invalid, as for every
// other object whose fields are wrong: kubectl then shows each cause on a line of its own.
func appendStatus(dst []byte, a *answer) []byte {
	dst = append(dst, `,"status":{"metadata":{},"status":"Failure","message":`...)
	dst = appendString(dst, audit.Message(a.denials))
	dst = append(dst, `,"reason":"Invalid","details":{"name":`...)
	dst = appendString(dst, a.name)
	if a.group != "" {
		dst = append(dst, `,"group":`...)
		dst = appendString(dst, a.group)
	}
	dst = append(dst, `,"kind":`...)
	dst = appendString(dst, a.kind)
	dst = append(dst, `,"causes":[`...)
	for i, f := range a.denials {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"reason":"FieldValueInvalid","message":`...)
		dst = appendString(dst, f.Message+" ["+f.Rule+"]")
		dst = append(dst, `,"field":`...)
		dst = appendString(dst, f.Field)
		dst = append(dst, '}')
	}
	return append(dst, `]},"code":422}`...)
}

func appendStrings(dst []byte, ss []string) []byte {
	dst = append(dst, '[')
	for i, s := range ss {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}

// appendString appends a JSON string. Invalid UTF-8 becomes U+FFFD, so the error says nothing more.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
