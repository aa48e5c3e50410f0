package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// kubectl reads YAML 1.1 (sigs.k8s.io/yaml, on go.yaml.in/yaml/v2), this package's parser 1.2: a plain yes is a boolean there
// and a string here. What is decided here is what kubectl would send to the API server.

// truths are the plain scalars that are booleans in YAML 1.1 (go.yaml.in/yaml/v2 resolve.go).
var truths = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true, "true": true, "True": true, "TRUE": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false, "false": false, "False": false, "FALSE": false,
}

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// tagOf is the type of a scalar.
func tagOf(n *yaml.Node) string {
	tag := n.ShortTag()
	if _, truth := truths[n.Value]; truth && tag == "!!str" && n.Style&(quoted|yaml.TaggedStyle) == 0 {
		return "!!bool"
	}
	return tag
}

// stringNode is a string as a node, in quotes where it would be a boolean without.
func stringNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if _, truth := truths[s]; truth {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// valueOf is what a scalar says: nil, a bool, a number or a string.
func valueOf(n *yaml.Node) (any, error) {
	switch tagOf(n) {
	case "!!null":
		if n.Value != "" && n.Value != "~" && !strings.EqualFold(n.Value, "null") {
			return nil, &NodeError{n, fmt.Errorf("%q is not null", n.Value)}
		}
		return nil, nil
	case "!!bool":
		truth, ok := truths[n.Value]
		if !ok {
			return nil, &NodeError{n, fmt.Errorf("%q is no boolean", n.Value)}
		}
		return truth, nil
	case "!!int", "!!float", "!!binary":
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, &NodeError{n, err}
		}
		return v, nil
	}
	return n.Value, nil
}

// keyOf is a key as JSON has it, where all keys are strings (sigs.k8s.io/yaml convertToJSONableObject, v1.6.0).
func keyOf(n *yaml.Node) (string, error) {
	v, err := valueOf(n)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int, int64:
		return fmt.Sprint(v), nil
	case float64:
		switch {
		case math.IsNaN(v):
			return ".nan", nil
		case math.IsInf(v, 0):
			return map[bool]string{true: ".inf", false: "-.inf"}[v > 0], nil
		}
		return strconv.FormatFloat(v, 'g', -1, 32), nil
	}
	return "", &NodeError{n, fmt.Errorf("a key that is %v", v)}
}

// appendScalar writes a scalar as JSON. A number that is JSON already stays as it is written.
func appendScalar(dst []byte, n *yaml.Node) ([]byte, error) {
	v, err := valueOf(n)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return jsontext.AppendQuote(dst, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &NodeError{n, fmt.Errorf("%s is no number in JSON", n.Value)}
		}
	}
	if json.Valid([]byte(n.Value)) && !strings.ContainsAny(n.Value, "eE") {
		return append(dst, n.Value...), nil
	}
	number, err := json.Marshal(v)
	return append(dst, number...), err
}

// NodeError is about a node of a document.
type NodeError struct {
	Node *yaml.Node
	Err  error
}

// Error says what is wrong with the node.
func (e *NodeError) Error() string { return e.Err.Error() }

// Unwrap is what is wrong with the node.
func (e *NodeError) Unwrap() error { return e.Err }
