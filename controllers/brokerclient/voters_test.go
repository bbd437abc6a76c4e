package brokerclient

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
)

func TestVotersAndMinISR(t *testing.T) {
	_, c := cluster(t, 3, nil)
	await(t, func(ctx context.Context) error {
		voters, err := c.Voters(ctx)
		if err == nil && !slices.Equal(voters, []int32{0, 1, 2}) {
			err = fmt.Errorf("voters %v", voters)
		}
		return err
	})
	errs, err := c.CreateTopics(t.Context(), []NewTopic{
		{Name: "own", Partitions: 1, Replicas: 3, Settings: map[string]string{"min.insync.replicas": "3"}},
		{Name: "default", Partitions: 1, Replicas: 3},
	})
	check(t, "create", errs, err, 0, 0)
	change := SettingsChange{Set: map[string]string{"min.insync.replicas": "2"}}
	if err := c.AlterClusterSettings(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		got, err := c.MinISR(ctx, "own", "default", "none")
		if err == nil && !maps.Equal(got, map[string]int{"own": 3, "default": 2}) {
			err = fmt.Errorf("min.insync.replicas %v", got)
		}
		return err
	})
}
