package wiring

import "strings"

// maxLabelValue is the API's bound for a label's value.
const maxLabelValue = 63

// IsLabelValue reports whether a label can have value, and it is not empty: letters, digits, '-', '_' and '.', at most 63,
// the first and the last a letter or a digit. It is what validation.IsValidLabelValue says, without its regular expression.
func IsLabelValue(value string) bool {
	if value == "" || len(value) > maxLabelValue || !isAlphanumeric(value[0]) || !isAlphanumeric(value[len(value)-1]) {
		return false
	}
	for i := 1; i < len(value)-1; i++ {
		if c := value[i]; !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// IsName reports whether value can name a Dynamo namespace, component or endpoint of a pod: a label can carry it, and it
// has no dot, which separates the three in an endpoint path. Dynamo itself refuses nothing but the dot.
func IsName(value string) bool { return IsLabelValue(value) && strings.IndexByte(value, '.') < 0 }

// Namespace is the default Dynamo namespace that the Namespace declares; empty where it declares none, or one that is no
// name.
func (s Settings) Namespace() string {
	if IsName(s.DynamoNamespace) {
		return s.DynamoNamespace
	}
	return ""
}
