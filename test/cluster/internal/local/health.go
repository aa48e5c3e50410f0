package local

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// checkTimeout bounds one look at one component.
const checkTimeout = 2 * time.Second

// check says why a component is not healthy.
type check func(ctx context.Context) error

// httpCheck expects 200. Certificates are not verified: each component makes its
// own, and what is asked is only whether it is well.
func httpCheck(netns, url, token string) check {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		transport := &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return dialIn(ctx, netns, address)
			},
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			return fmt.Errorf("not answering: %w", err)
		}
		defer resp.Body.Close() //nolint:errcheck // read to what is needed
		if resp.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
			return fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
		}
		return nil
	}
}
