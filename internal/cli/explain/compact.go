package explain

import (
	"encoding/json"
	"sort"
	"strings"
)

// compact is a set of labels or annotations on one line, and the JSON of anything else.
func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	var texts map[string]string
	if json.Unmarshal(data, &texts) != nil {
		return string(data)
	}
	all := make([]string, 0, len(texts))
	for key, text := range texts {
		all = append(all, key+"="+text)
	}
	sort.Strings(all)
	return strings.Join(all, ", ")
}
