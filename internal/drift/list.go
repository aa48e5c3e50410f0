package drift

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// pageSize keeps a page of pods of 10 KB at a megabyte, of which one pod at a time is decoded.
const pageSize = 100

// API reads what is scanned, straight from the API server: a cache of whole pods would cost more memory than all the rest
// of the process.
type API struct {
	// Core is a client of core/v1, Dynamo one of nvidia.com/v1alpha1.
	Core, Dynamo rest.Interface
}

// restFactor is how much longer than a page took is the pause behind it: a scan keeps the API server busy for a fifth of the time
// at most, whatever a page costs there.
const restFactor = 4

// podSelector is what admission serves, see manifests/base/webhooks.yaml.
const podSelector = wiring.LabelDiscoveryEnabled + "!=false,!" + wiring.LabelGraphDeployment + ",!" + wiring.LabelOperatorSelector

// Pods calls yield for each pod of a namespace that has not ended and is not about to.
func (a *API) Pods(ctx context.Context, namespace string, yield func(Pod)) error {
	params := map[string]string{
		"labelSelector": podSelector,
		"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed",
	}
	return a.pages(ctx, a.Core, namespace, "pods", params, func(raw []byte) error {
		p, ok, err := decodePod(raw)
		if ok {
			yield(p)
		}
		return err
	})
}

// Models calls yield for the pod and the metadata document of each DynamoWorkerMetadata of a namespace.
func (a *API) Models(ctx context.Context, namespace string, yield func(podUID string, data []byte)) error {
	err := a.pages(ctx, a.Dynamo, namespace, "dynamoworkermetadatas", nil, func(raw []byte) error {
		var o struct {
			Metadata pod.Metadata `json:"metadata"`
			Spec     struct {
				Data jsontext.Value `json:"data"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(raw, &o, pod.Options); err != nil {
			return fmt.Errorf("decode: %w", err)
		}
		for _, owner := range o.Metadata.OwnerReferences {
			if owner.Kind == "Pod" {
				yield(owner.UID, o.Spec.Data)
			}
		}
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil // a cluster where no Dynamo ran yet has not got the kind
	}
	return err
}

// pages reads a collection page by page and calls yield with each object.
func (a *API) pages(ctx context.Context, c rest.Interface, namespace, resource string, params map[string]string, yield func([]byte) error) error {
	next := ""
	for {
		request := c.Get().Namespace(namespace).Resource(resource).SetHeader("Accept", "application/json").
			Param("limit", strconv.Itoa(pageSize))
		for key, value := range params {
			request.Param(key, value)
		}
		if next != "" {
			request.Param("continue", next)
		}
		start := time.Now()
		body, err := request.Stream(ctx)
		if err != nil {
			return fmt.Errorf("list %s of namespace %s: %w", resource, namespace, err)
		}
		next, err = items(body, yield)
		_ = body.Close() // it has been read
		if err != nil {
			return fmt.Errorf("list %s of namespace %s: %w", resource, namespace, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(restFactor * time.Since(start)):
		}
		if next == "" {
			return nil
		}
	}
}

// items reads a list as it comes, one object at a time, and returns where it goes on.
func items(body io.Reader, yield func([]byte) error) (next string, err error) {
	dec := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true))
	if err := expect(dec, '{'); err != nil {
		return "", err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", err
		}
		switch name.String() {
		case "metadata":
			var m struct {
				Continue string `json:"continue"`
			}
			if err := json.UnmarshalDecode(dec, &m); err != nil {
				return "", err
			}
			next = m.Continue
		case "items":
			if err := elements(dec, yield); err != nil {
				return "", err
			}
		default:
			if err := dec.SkipValue(); err != nil {
				return "", err
			}
		}
	}
	return next, nil
}

func elements(dec *jsontext.Decoder, yield func([]byte) error) error {
	if dec.PeekKind() == 'n' {
		return dec.SkipValue()
	}
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := yield(raw); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

func expect(dec *jsontext.Decoder, kind jsontext.Kind) error {
	token, err := dec.ReadToken()
	if err == nil && token.Kind() != kind {
		err = fmt.Errorf("found %s, want %s", token.Kind(), kind)
	}
	return err
}

// decodePod reads a pod; false where it is on its way out.
func decodePod(raw []byte) (Pod, bool, error) {
	p, err := pod.Decode(raw)
	if err != nil {
		return Pod{}, false, fmt.Errorf("decode a pod: %w", err)
	}
	var state struct {
		Metadata struct {
			DeletionTimestamp string `json:"deletionTimestamp"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
			} `json:"conditions"`
			ContainerStatuses []struct {
				Name         string         `json:"name"`
				RestartCount int            `json:"restartCount"`
				LastState    containerState `json:"lastState"`
			} `json:"containerStatuses"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &state, pod.Options); err != nil {
		return Pod{}, false, fmt.Errorf("decode a pod's status: %w", err)
	}
	out := Pod{Pod: p, Exits: map[string]Exit{}}
	for _, c := range state.Status.Conditions {
		out.Ready = out.Ready || c.Type == "Ready" && c.Status == "True"
	}
	for _, c := range state.Status.ContainerStatuses {
		if t := c.LastState.Terminated; t != nil {
			out.Exits[c.Name] = Exit{Restarts: c.RestartCount, Code: t.ExitCode}
		}
	}
	return out, state.Metadata.DeletionTimestamp == "", nil
}

type containerState struct {
	Terminated *struct {
		ExitCode int `json:"exitCode"`
	} `json:"terminated"`
}
