package wire_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime/wire"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// realObject is a DynamoWorkerMetadata that a worker of that release wrote (dynamo.mocker under kubernetes discovery).
func realObject(t testing.TB, release string) (name string, data json.RawMessage) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "worker-metadata-"+release+".json"))
	require.NoError(t, err)
	type object struct {
		Metadata struct{ Name string }
		Spec     struct{ Data json.RawMessage }
	}
	var o struct {
		object
		Items []object
	}
	require.NoError(t, json.Unmarshal(raw, &o))
	if len(o.Items) > 0 {
		o.object = o.Items[0]
	}
	return o.Metadata.Name, o.Spec.Data
}

func TestRealWorkersAreRead(t *testing.T) {
	for release, want := range map[string]struct {
		secondary, address, model, codec string
	}{
		"1.3.1": {"worker_kv_indexer_query_dp0", "198.51.100.31:38467", "tiny-v131", ""},
		"1.5.1": {"worker_kv_query_source_e45efd6ea2903", "198.51.100.33:34755", "tiny-v151", "msgpack"},
		"1.6.1": {"worker_kv_query_source_3b6f30691481a", "198.51.100.35:35129", "tiny-v161", "msgpack"},
	} {
		t.Run(release, func(t *testing.T) {
			name, data := realObject(t, release)
			m, err := wire.Parse(data)
			require.NoError(t, err)
			require.Len(t, m.Endpoints(), 2)
			assert.Equal(t, "generate", m.Endpoints()[0].Name)
			assert.Equal(t, want.secondary, m.Endpoints()[1].Name)
			for _, e := range m.Endpoints() {
				assert.Equal(t, "dynamo", e.Namespace)
				assert.Equal(t, "backend", e.Component)
				assert.Equal(t, wiring.InstanceID(name), e.InstanceID, "the id is the hash of the pod's name")
				assert.Equal(t, "tcp", e.Transport.Kind)
				assert.Equal(t, want.address, e.Transport.HostPort())
				assert.Equal(t, want.codec, e.Codec)
				assert.Equal(t, "cuda", e.DeviceType)
			}
			cards := m.ModelCards()
			require.Len(t, cards, 1)
			assert.Equal(t, "generate", cards[0].Endpoint)
			var card struct {
				DisplayName string `json:"display_name"`
			}
			require.NoError(t, json.Unmarshal(cards[0].Card, &card))
			assert.Equal(t, want.model, card.DisplayName)
			assert.Nil(t, m.Values())
			assert.JSONEq(t, string(data), string(m.Raw()))
		})
	}
}

// The API server has rounded this id of 1.3.1: it must come through as it is written and never be taken for an id.
func TestInexactChannelIDsStayText(t *testing.T) {
	_, data := realObject(t, "1.3.1")
	require.Contains(t, string(data), "13146785009078750000")
	m, err := wire.Parse(data)
	require.NoError(t, err)
	assert.Contains(t, string(m.Raw()), "13146785009078750000")
}

func TestParseLeavesAloneWhatItDoesNotKnow(t *testing.T) {
	const doc = `{
		"endpoints": {
			"good": {"type":"Endpoint","namespace":"n","component":"c","endpoint":"e","instance_id":7,"transport":{"quic":{"host":"h"}}},
			"huge id": {"type":"Endpoint","namespace":"n","component":"c","endpoint":"f","instance_id":11874409117211972000,"transport":{"tcp":"h:1"}},
			"odd id": {"type":"Endpoint","namespace":"n","component":"c","endpoint":"g","instance_id":1e3,"transport":"none"},
			"new kind": {"type":"Portal","endpoint":"p"},
			"no name": {"type":"Endpoint"},
			"no object": 7
		},
		"model_cards": null,
		"portals": {"p": [1, 2.50, null]}
	}`
	m, err := wire.Parse([]byte(doc))
	require.NoError(t, err)
	require.Len(t, m.Endpoints(), 3)
	assert.Equal(t, uint64(7), m.Endpoints()[0].InstanceID)
	assert.Equal(t, wire.Transport{Kind: "quic", Raw: json.RawMessage(`{"host":"h"}`)}, m.Endpoints()[0].Transport)
	assert.Zero(t, m.Endpoints()[1].InstanceID)
	assert.Zero(t, m.Endpoints()[2].InstanceID)
	assert.Empty(t, m.ModelCards())
	assert.Contains(t, string(m.Raw()), `{"p": [1, 2.50, null]}`)
}

func TestOneEndpoint(t *testing.T) {
	entry := func(namespace, name, host string) string {
		return `{"type":"Endpoint","namespace":"` + namespace + `","component":"c","endpoint":"` + name + `","transport":{"tcp":"` + host + `"}}`
	}
	m, err := wire.Parse([]byte(`{"a":{"endpoints":{"k":` + entry("n", "generate", "wrong") + `}}, "endpoints":{"0":7,"1":` + entry("n-x", "generate", "second") +
		`,"2":` + entry("n", "generate", "first") + `,"3":` + entry("n", "embed", "other") + `,"4":{"type":"Portal","component":"c","endpoint":"door"}}}`))
	require.NoError(t, err)
	for name, want := range map[string]string{"generate": "first", "embed": "other", "door": "", "": ""} {
		e, ok := m.Endpoint("c", name)
		assert.Equal(t, want != "", ok, name)
		assert.Equal(t, want, e.Transport.Address, name)
	}
	_, ok := m.Endpoint("d", "generate")
	assert.False(t, ok)
	_, ok = (*wire.Metadata)(nil).Endpoint("c", "generate")
	assert.False(t, ok)
}

func TestParseWantsAnObject(t *testing.T) {
	for _, doc := range []string{"", " ", "null", "[]", "7", `"x"`, "{", `{"endpoints":[]}`, `{"endpoints":{}}}`} {
		_, err := wire.Parse([]byte(doc))
		assert.Error(t, err, doc)
	}
	var none *wire.Metadata
	assert.Nil(t, none.Values())
	assert.Nil(t, none.ModelCards())
}

func TestEncodeIsReadBack(t *testing.T) {
	in := wire.Document{
		InstanceID: wiring.InstanceID("worker-0"),
		Endpoints: []wire.Endpoint{
			{Namespace: "myns", Component: "backend", Name: "generate", Transport: wire.TCP("10.0.0.7:41235/43710f49c0cff/generate"), Codec: "json"},
			{Namespace: "myns", Component: "backend", Name: "embed", Transport: wire.Transport{Kind: "quic", Raw: json.RawMessage(`{"h":1}`)}},
		},
		ModelCards: []wire.ModelCard{{Namespace: "myns", Component: "backend", Endpoint: "generate", Suffix: "lora-1", Card: json.RawMessage(`{"display_name":"m"}`)}},
		Values:     json.RawMessage(`{"any":["thing",{"at":"all"}]}`),
	}
	raw, err := wire.Encode(in)
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"myns/backend/generate/43710f49c0cff"`)
	assert.Contains(t, string(raw), `"myns/backend/generate/43710f49c0cff/lora-1"`)
	m, err := wire.Parse(raw)
	require.NoError(t, err)
	for i := range in.Endpoints {
		in.Endpoints[i].InstanceID = in.InstanceID
	}
	assert.ElementsMatch(t, in.Endpoints, m.Endpoints())
	assert.Equal(t, in.ModelCards, m.ModelCards())
	assert.JSONEq(t, string(in.Values), string(m.Values()))
}

// Release 1.0 takes a document without endpoints or model_cards for broken.
func TestEncodeWritesEmptyMaps(t *testing.T) {
	raw, err := wire.Encode(wire.Document{})
	require.NoError(t, err)
	assert.JSONEq(t, `{"endpoints":{},"model_cards":{},"event_channels":{}}`, string(raw))
}

func TestEncodeRefusesWhatReadersStumbleOver(t *testing.T) {
	e := wire.Endpoint{Namespace: "n", Component: "c", Name: "e", Transport: wire.TCP("h:1")}
	bad := func(change func(*wire.Endpoint)) []wire.Endpoint {
		b := e
		change(&b)
		return []wire.Endpoint{b}
	}
	for says, doc := range map[string]wire.Document{
		"above 2^53-1":                    {InstanceID: 1 << 53},
		"given twice":                     {Endpoints: []wire.Endpoint{e, e}},
		`namespace name "" is empty`:      {Endpoints: bad(func(e *wire.Endpoint) { e.Namespace = "" })},
		`component name "a/b"`:            {Endpoints: bad(func(e *wire.Endpoint) { e.Component = "a/b" })},
		"has no transport":                {Endpoints: bad(func(e *wire.Endpoint) { e.Transport = wire.Transport{} })},
		`address ":8080/x" has no host`:   {Endpoints: bad(func(e *wire.Endpoint) { e.Transport = wire.TCP(":8080/x") })},
		"has no address":                  {Endpoints: bad(func(e *wire.Endpoint) { e.Transport = wire.TCP("") })},
		"needs a display_name":            {ModelCards: []wire.ModelCard{{Endpoint: "e", Card: json.RawMessage(`{"display_name":7}`)}}},
		"metadata: not a JSON object":     {Values: json.RawMessage(`"x"`)},
		`of endpoint "e": not a JSON obj`: {ModelCards: []wire.ModelCard{{Endpoint: "e", Card: json.RawMessage(`{`)}}},
	} {
		_, err := wire.Encode(doc)
		assert.ErrorContains(t, err, says)
	}
}

func TestHostPort(t *testing.T) {
	for address, want := range map[string]string{
		"10.0.0.7:41235/43710f49c0cff/generate": "10.0.0.7:41235",
		"http://h:8888/v1/rpc/generate":         "h:8888",
		"[fd00::1]:80/x":                        "[fd00::1]:80",
		"h:1":                                   "h:1",
		"":                                      "",
	} {
		assert.Equal(t, want, wire.TCP(address).HostPort())
	}
}

// decoded is what encoding/json makes of the entries of a map that have that type.
func decoded(t *testing.T, doc map[string]json.RawMessage, in, kind string) []map[string]json.RawMessage {
	var entries map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(doc[in], &entries))
	var out []map[string]json.RawMessage
	for _, raw := range entries {
		var e map[string]json.RawMessage
		if json.Unmarshal(raw, &e) != nil || e == nil {
			continue
		}
		texts := true
		for _, key := range []string{"type", "namespace", "component", "endpoint", "device_type", "request_plane_codec", "model_suffix"} {
			var s string
			texts = texts && (e[key] == nil || json.Unmarshal(e[key], &s) == nil)
		}
		if texts && text(e["type"]) == kind && text(e["endpoint"]) != "" {
			out = append(out, e)
		}
	}
	return out
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// Whatever a document is, it is read as encoding/json would read it.
func FuzzParse(f *testing.F) {
	for _, release := range []string{"1.3.1", "1.5.1", "1.6.1"} {
		_, data := realObject(f, release)
		f.Add([]byte(data))
	}
	f.Add([]byte(`{"endpoints":{"k":{"type":"Endpoint","endpoint":"e","transport":{}}},"dynawire.io/metadata":{}}`))
	f.Add([]byte(`{"endpoints":{"k":{"type":"Endpoint","endpoint":"\u00e9\n","transport":{"a":null,"b":1},"codec":7}},"model_cards":7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := wire.Parse(data)
		if err != nil {
			return
		}
		require.True(t, json.Valid(data), "took what is no JSON")
		var document map[string]any
		numbers := json.NewDecoder(bytes.NewReader(data)) // some are too large for a float
		numbers.UseNumber()
		require.NoError(t, numbers.Decode(&document))
		data, err = json.Marshal(document) // as an API server writes it: each key once
		require.NoError(t, err)
		var doc map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &doc))
		m, err := wire.Parse(data)
		if err != nil {
			return // of two entries "endpoints" the first was a map
		}
		assert.Equal(t, string(data), string(m.Raw()))
		assert.Equal(t, string(doc[wire.ValuesKey]), string(m.Values()))
		if first := doc["endpoints"]; first != nil && first[0] == '{' {
			want := decoded(t, doc, "endpoints", "Endpoint")
			require.Len(t, m.Endpoints(), len(want))
			var names, got []string
			for _, e := range want {
				names = append(names, text(e["namespace"])+"|"+text(e["component"])+"|"+text(e["endpoint"])+"|"+text(e["device_type"]))
			}
			for _, e := range m.Endpoints() {
				got = append(got, e.Namespace+"|"+e.Component+"|"+e.Name+"|"+e.DeviceType)
			}
			assert.ElementsMatch(t, names, got)
			for _, e := range m.Endpoints() {
				first := slices.IndexFunc(m.Endpoints(), func(o wire.Endpoint) bool { return o.Component == e.Component && o.Name == e.Name })
				one, ok := m.Endpoint(e.Component, e.Name)
				assert.True(t, ok)
				assert.Equal(t, m.Endpoints()[first].Namespace, one.Namespace)
			}
		}
		if cards := doc["model_cards"]; cards != nil && cards[0] == '{' {
			assert.Len(t, m.ModelCards(), len(decoded(t, doc, "model_cards", "Model")))
		}
	})
}

func BenchmarkEndpoints(b *testing.B) {
	_, data := realObject(b, "1.6.1")
	m, err := wire.Parse(data)
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if len(m.Endpoints()) != 2 {
			b.Fatal("want two")
		}
	}
}
