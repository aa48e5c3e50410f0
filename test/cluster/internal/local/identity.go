package local

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"sigs.k8s.io/yaml"
)

// The users of the static token file, by the key that their token is kept under.
const (
	userAdmin             = "admin"
	userControllerManager = "controller-manager"
	userScheduler         = "scheduler"
	userKubelet           = "kubelet"
	userKubeProxy         = "kube-proxy"
)

// user is one identity that the API server knows by its token.
type user struct {
	key, name, group string
}

// users are the ones that Kubernetes' own RBAC bootstrap policy speaks of.
func users(node string) []user {
	return []user{
		{userAdmin, "admin", "system:masters"},
		{userControllerManager, "system:kube-controller-manager", ""},
		{userScheduler, "system:kube-scheduler", ""},
		{userKubelet, "system:node:" + node, "system:nodes"},
		{userKubeProxy, "system:kube-proxy", ""},
	}
}

func newToken() (string, error) {
	var raw [24]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return hex.EncodeToString(raw[:]), nil
}

// tokenFile renders the API server's static token file: token,user,uid,groups.
func tokenFile(node string, tokens map[string]string) []byte {
	var b bytes.Buffer
	for _, u := range users(node) {
		_, _ = fmt.Fprintf(&b, "%s,%s,%s,%q\n", tokens[u.key], u.name, u.key, u.group)
	}
	return b.Bytes()
}

// kubeconfig renders a client configuration that needs no other file.
func kubeconfig(cluster, server string, ca []byte, user, token string) ([]byte, error) {
	type object = map[string]any
	out, err := yaml.Marshal(object{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters": []object{{"name": cluster, "cluster": object{
			"server": server, "certificate-authority-data": ca}}},
		"users":           []object{{"name": user, "user": object{"token": token}}},
		"contexts":        []object{{"name": cluster, "context": object{"cluster": cluster, "user": user}}},
		"current-context": cluster,
	})
	if err != nil {
		return nil, fmt.Errorf("render the kubeconfig of %s: %w", user, err)
	}
	return out, nil
}
