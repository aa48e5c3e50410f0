package workload

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON reads objects as they come, without decoding what is beside the way.
var JSON = Tree[jsontext.Value]{Member: member, Items: items, IsObject: isObject}

func isObject(v jsontext.Value) bool { return v.Kind() == '{' }

func member(v jsontext.Value, name string) (jsontext.Value, bool) {
	if !isObject(v) {
		return nil, false
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members, jsontext.AllowDuplicateNames(true)) != nil {
		return nil, false
	}
	found, ok := members[name]
	return found, ok
}

func items(v jsontext.Value) []jsontext.Value {
	var all []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &all, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return all
}
