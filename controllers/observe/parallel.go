package observe

import "golang.org/x/sync/errgroup"

// maxParallel bounds the questions that one pass has under way.
const maxParallel = 16

// inParallel asks for each of the items and gives the answers in the order of the items, when all are there.
func inParallel[T, A any](items []T, ask func(T) A) []A {
	answers := make([]A, len(items))
	var g errgroup.Group
	g.SetLimit(maxParallel)
	for i, item := range items {
		g.Go(func() error {
			answers[i] = ask(item)
			return nil
		})
	}
	_ = g.Wait() // no question fails: an answer says that it is none
	return answers
}
