package manifest

import "testing"

func TestDecide(t *testing.T) {
	at := Place{File: "f", Document: 2, Line: 7}
	config := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	topic := func(partitions, replicas int32, pairs ...string) Topic {
		return Topic{At: at, Name: "t", Partitions: partitions, Replicas: replicas, Config: config(pairs...), lines: map[string]int{"spec.partitions": 9}}
	}
	f := func(want Topic, found *Found, expect string) {
		t.Helper()
		c, err := Decide(want, found)
		got := c.Describe("t")
		if err != nil {
			got = err.Error()
		}
		if got != expect {
			t.Errorf("%+v over %+v:\ngot  %s\nwant %s", want, found, got, expect)
		}
	}
	f(topic(-1, -1), nil, "topic t: created")
	f(topic(3, 1, "a", "1"), nil, "topic t: created")
	there := &Found{Partitions: 3, Replicas: 2, Config: config("a", "1", "b", "2")}
	f(topic(3, 2, "a", "1", "b", "2"), there, "topic t: as it should be")
	f(topic(-1, -1, "a", "1", "b", "2"), there, "topic t: as it should be")
	f(topic(4, -1, "a", "1", "b", "2"), there, "topic t: grown to 4 partitions")
	f(topic(5, 2, "b", "3", "c", "4"), there, "topic t: grown to 5 partitions, b=3, c=4, a back to its default")
	f(topic(-1, -1), there, "topic t: a back to its default, b back to its default")
	f(topic(2, 2), there, "f: document 2, line 9: spec.partitions: topic t has 3: partitions cannot be taken away, 2 is impossible")
	f(topic(3, 3), there, "f: document 2, line 7: spec.replicationFactor: topic t has 2: replicas are not moved here, give it 3 by a reassignment or make the topic again")
}
