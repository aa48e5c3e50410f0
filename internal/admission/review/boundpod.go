package review

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// BoundPod is the pod that a ServiceAccount's token is bound to, which the API server writes into the extra of who asks
// (k8s.io/apiserver pkg/authentication/serviceaccount). It is zero where the token is bound to none.
type BoundPod struct{ Name, UID string }

// Keys of the extra, as they stand in JSON: a name that is written in another way is not recognised, which only makes the
// token one without a pod.
const (
	extraPodName = `"authentication.kubernetes.io/pod-name"`
	extraPodUID  = `"authentication.kubernetes.io/pod-uid"`
)

// UnmarshalJSONFrom picks two entries out of a map of lists and builds nothing else.
func (b *BoundPod) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*b = BoundPod{}
	if dec.PeekKind() != '{' {
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		key, err := dec.ReadValue()
		if err != nil {
			return err
		}
		var to *string
		switch string(key) {
		case extraPodName:
			to = &b.Name
		case extraPodUID:
			to = &b.UID
		default:
			if err := dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		var values []string
		if err := json.UnmarshalDecode(dec, &values); err != nil {
			return err
		}
		*to = ""
		if len(values) == 1 {
			*to = values[0]
		}
	}
	_, err := dec.ReadToken()
	return err
}
