package pod

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// IntOrString is a port by number or by name, as intstr.IntOrString. Name is empty for a number.
type IntOrString struct {
	Number int32
	Name   string
}

// String is the number or the name.
func (v IntOrString) String() string {
	if v.Name != "" {
		return v.Name
	}
	return strconv.Itoa(int(v.Number))
}

// UnmarshalJSONFrom takes a JSON number or string.
func (v *IntOrString) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case '"':
		*v = IntOrString{Name: tok.String()}
	case '0':
		n, err := strconv.ParseInt(tok.String(), 10, 32)
		if err != nil {
			return fmt.Errorf("port %s is no 32-bit integer", tok.String())
		}
		*v = IntOrString{Number: int32(n)}
	case 'n':
		*v = IntOrString{}
	default:
		return fmt.Errorf("port is a JSON %v, want a number or a string", tok.Kind())
	}
	return nil
}
