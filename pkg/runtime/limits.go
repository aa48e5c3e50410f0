package runtime

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// What every backend takes, so that a program that works on one works on all. They are what a Kubernetes object holds.
const (
	// MaxKey is the longest key, in bytes.
	MaxKey = 1024
	// MaxValue is the largest value under a key, in bytes (k8s.io/api/core/v1 MaxSecretSize).
	MaxValue = 1 << 20
	// MaxMetadata is the largest document that an instance publishes, in bytes of JSON: endpoints, model cards and the
	// registration's own object together. etcd takes 1.5 MiB; of a worker's object as it is stored 43 % was managedFields.
	MaxMetadata = 768 << 10
)

// CheckKey returns ErrInvalidKey for what no backend stores: an empty key, one that is longer than MaxKey, one that is not
// UTF-8. Any other is fine: slashes, upper case, spaces.
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidKey)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrInvalidKey, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", ErrInvalidKey)
	}
	return nil
}

// Check says what is wrong with options of WriteKV that mean nothing, on any backend.
func (o WriteOptions) Check() error {
	if w := o.Owner; w != (Owner{}) && (w.APIVersion == "" || w.Kind == "" || w.Name == "" || w.UID == "") {
		return fmt.Errorf("the owner %+v is not complete: want APIVersion, Kind, Name and UID", w)
	}
	if o.IfVersion != nil && *o.IfVersion == "" {
		return errors.New("IfVersion is empty: want the Version that ReadKV returned; CreateOnly is for a key that is not there yet, " +
			"and for any version leave it out")
	}
	return nil
}

// CheckStatus refuses what is neither of the two states.
func CheckStatus(s Status) error {
	if s != StatusReady && s != StatusNotReady {
		return fmt.Errorf("there is no status %q: want %q or %q", s, StatusReady, StatusNotReady)
	}
	return nil
}

// CheckValue returns ErrTooLarge for a value above MaxValue.
func CheckValue(value []byte) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%w: %d bytes, at most %d; keep the bytes elsewhere and a reference here", ErrTooLarge, len(value), MaxValue)
	}
	return nil
}
