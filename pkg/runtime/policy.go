package runtime

// SubscribeOption says what becomes of a subscription whose reader falls behind. Whatever it is, the reader costs memory in
// proportion to the component and delays nobody else.
type SubscribeOption func(*policy)

type policy struct {
	kind  policyKind
	limit int
}

type policyKind int

const (
	coalesce policyKind = iota
	block
	fail
)

// Coalesce lets a reader that falls behind skip intermediate states. It is the default.
func Coalesce() SubscribeOption { return func(p *policy) { *p = policy{kind: coalesce} } }

// Block tells every change that this process learns of, one by one and in the order in which it learned of them, as long
// as the reader is less than n events behind. When n wait, the subscription takes no more until the reader has read all of
// them; the table, its source and the other subscriptions go on. What changed in between is then told as with Coalesce:
// intermediate states are skipped, the last one never. n below 1 counts as 1.
//
// Even a reader that keeps up sees what the API server wrote, not all that was true: two changes of one slice that are
// written at once are one change, and so is all that happens while a watch is interrupted.
func Block(n int) SubscribeOption {
	return func(p *policy) { *p = policy{kind: block, limit: max(1, n)} }
}

// Fail ends the subscription with ErrSlowSubscriber as soon as more than n instances have changes that the reader has not
// been told. What was there when the subscription began does not count. n below 1 counts as 1.
func Fail(n int) SubscribeOption {
	return func(p *policy) { *p = policy{kind: fail, limit: max(1, n)} }
}
