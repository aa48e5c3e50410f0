package explain

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/mutate"
)

// Text writes an entry for people.
func (e *Entry) Text(w io.Writer) error {
	name := e.Object
	if e.Template != "" {
		name += " (" + e.Template + ")"
	}
	if e.Pod == Skipped {
		_, err := fmt.Fprintf(w, "%s: skipped (%s): %s\n", name, e.Reason, Sentence(identity.Reason(e.Reason)))
		return err
	}
	var b, table strings.Builder
	b.WriteString(name + ": " + Touched + ": " + Sentence(identity.Wired) + "\n")
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		name string
		identity.Value
	}{
		{"namespace", e.sources.Namespace},
		{"component", e.sources.Component}, {"endpoint", e.sources.Endpoint}, {"role", e.sources.Role},
	} {
		_, _ = fmt.Fprintf(t, "  %s\t%s\n", part.name, e.source(part.Value))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	for _, line := range additions(e.Patch) {
		b.WriteString("  + " + e.prefix + line + "\n")
	}
	for _, f := range e.findings {
		word := "warning"
		if slices.Contains(e.Deny, f.Rule) {
			word = "refused"
		}
		b.WriteString("  " + word + ": " + f.String() + "\n")
	}
	for _, remark := range e.remarks {
		b.WriteString("  warning: " + remark + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// source is a value, how sure it is, how it is known and where it stands.
func (e *Entry) source(v identity.Value) string {
	if !v.Known() {
		if said := v.Unread(); said != "" {
			return fmt.Sprintf("-\tunknown\t%s\t%s: %q, which nothing expands", v.How, v.Field.In(e.prefix), said)
		}
		return "-\tunknown\t\t"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s", v.Text, v.Sure, v.How, v.Field.In(e.prefix))
}

// additions are the operations of a patch in short, those of one place on one line.
func additions(patch []jsonpatch.Operation) []string {
	var places []string
	added := map[string][]string{}
	for _, o := range apart(patch) {
		place, what := describe(&o)
		if _, ok := added[place]; !ok {
			places = append(places, place)
		}
		if strings.HasSuffix(o.Path, "/0") {
			added[place] = append([]string{what}, added[place]...) // each goes in front of the one before
		} else {
			added[place] = append(added[place], what)
		}
	}
	lines := make([]string, 0, len(places))
	for _, place := range places {
		lines = append(lines, place+": "+strings.Join(added[place], ", "))
	}
	return lines
}

// apart is the same patch, with the labels and the annotations of a template without metadata each on their own.
func apart(patch []jsonpatch.Operation) []jsonpatch.Operation {
	if len(patch) == 0 {
		return nil
	}
	m, ok := patch[0].Value.(mutate.Metadata)
	if !ok {
		return patch
	}
	first := []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/labels", m.Labels)}
	if annotations := compact(m.Annotations); annotations != "" {
		first = append(first, jsonpatch.NewOperation("add", "/metadata/annotations", m.Annotations))
	}
	return append(first, patch[1:]...)
}

// describe is the place of an operation and what it puts there.
func describe(o *jsonpatch.Operation) (place, what string) {
	parts := strings.Split(strings.TrimPrefix(o.Path, "/"), "/")
	for i := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
	}
	last := parts[len(parts)-1]
	if last == "0" || last == "-" {
		parts = parts[:len(parts)-1]
	} else if o.Path != "/metadata/labels" && o.Path != "/metadata/annotations" && last != "env" && last != "ports" {
		parts = parts[:len(parts)-1]
		return fieldPath(parts), last + value(o.Value)
	}
	return fieldPath(parts), strings.TrimPrefix(value(o.Value), "=")
}

// fieldPath writes the parts of a pointer as spec.containers[0].env.
func fieldPath(parts []string) string {
	path := parts[0]
	for _, part := range parts[1:] {
		if _, err := strconv.Atoi(part); err == nil {
			path += "[" + part + "]"
		} else {
			path += "." + part
		}
	}
	return path
}

// value is what is put there: in short for what has a name.
func value(v any) string {
	switch v := v.(type) {
	case *mutate.EnvVar:
		if v.ValueFrom != nil {
			return v.Name + "=(" + v.ValueFrom.FieldRef.FieldPath + ")"
		}
		return v.Name + "=" + v.Value
	case []*mutate.EnvVar:
		var all []string
		for _, variable := range v {
			all = append(all, value(variable))
		}
		return strings.Join(all, ", ")
	case mutate.Port:
		return fmt.Sprintf("%s=%d", v.Name, v.ContainerPort)
	case []mutate.Port:
		return value(v[0])
	case mutate.Probe:
		return fmt.Sprintf("=GET %s on %v every %d s", v.HTTPGet.Path, v.HTTPGet.Port, v.PeriodSeconds)
	case string, bool:
		return fmt.Sprintf("=%v", v)
	}
	return compact(v)
}
