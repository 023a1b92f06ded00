package collector

import "k8s.io/apimachinery/pkg/types"

// goneRemembered is enough for the owners of several thousand objects that go at once. Forgetting one
// costs no more than a question to the API server.
const goneRemembered = 20_000

// forgetfulSet remembers the newest uids only.
type forgetfulSet struct {
	members map[types.UID]bool
	ring    []types.UID
	next    int
}

func newForgetfulSet(size int) *forgetfulSet {
	return &forgetfulSet{members: make(map[types.UID]bool), ring: make([]types.UID, size)}
}

func (s *forgetfulSet) add(uid types.UID) {
	if s.members[uid] {
		return
	}
	delete(s.members, s.ring[s.next])
	s.ring[s.next] = uid
	s.members[uid] = true
	s.next = (s.next + 1) % len(s.ring)
}

func (s *forgetfulSet) has(uid types.UID) bool { return s.members[uid] }
