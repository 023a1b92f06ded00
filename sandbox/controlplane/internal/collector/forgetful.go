package collector

// remembered is sufficient for the owners of several thousand objects that are deleted at once. A forgotten
// member only costs a request to the API server.
const remembered = 20_000

// forgetfulSet is a set that keeps only the newest members.
type forgetfulSet[K comparable] struct {
	members map[K]bool
	ring    []K
	next    int
}

func newForgetfulSet[K comparable](size int) *forgetfulSet[K] {
	return &forgetfulSet[K]{members: map[K]bool{}, ring: make([]K, size)}
}

func (s *forgetfulSet[K]) add(key K) {
	if s.members[key] {
		return
	}
	delete(s.members, s.ring[s.next])
	s.ring[s.next] = key
	s.members[key] = true
	s.next = (s.next + 1) % len(s.ring)
}

func (s *forgetfulSet[K]) has(key K) bool { return s.members[key] }
