package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/hack/image/archive"
)

// configOf reads the settings of a Dockerfile's last stage. It knows the instructions that ours has, in the one form in
// which they are written there; others are an error, lest the images come to differ.
func configOf(dockerfile string) (archive.Config, error) {
	c := archive.Config{Env: []string{"PATH=/"}}
	for i, line := range strings.Split(strings.ReplaceAll(dockerfile, "\\\n", " "), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		instruction, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		var err error
		switch instruction {
		case "FROM":
			c = archive.Config{Env: c.Env} // what was before belongs to a stage that stays behind
		case "COPY", "RUN", "ARG", "WORKDIR": // make files, which are given otherwise
		case "USER":
			c.User = rest
		case "EXPOSE":
			for _, port := range strings.Fields(rest) {
				set(&c.ExposedPorts, port+"/tcp")
			}
		case "VOLUME":
			set(&c.Volumes, rest)
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &c.Entrypoint)
		case "CMD":
			err = json.Unmarshal([]byte(rest), &c.Cmd)
		default:
			err = fmt.Errorf("the instruction %s is not known here", instruction)
		}
		if err != nil {
			return archive.Config{}, fmt.Errorf("instruction %d, %s: %w", i+1, instruction, err)
		}
	}
	return c, nil
}

func set(m *map[string]struct{}, key string) {
	if *m == nil {
		*m = map[string]struct{}{}
	}
	(*m)[key] = struct{}{}
}

// foldersOf are the folders that programs in the image write to: volumes, of the image's user, and /tmp.
func foldersOf(c archive.Config) ([]archive.Entry, error) {
	user, group, _ := strings.Cut(c.User, ":")
	uid, err := strconv.Atoi(user)
	if err != nil {
		return nil, fmt.Errorf("user %q: want numbers, which a cluster can tell from root", c.User)
	}
	gid, err := strconv.Atoi(group)
	if err != nil {
		return nil, fmt.Errorf("group of user %q: want a number", c.User)
	}
	folders := []archive.Entry{{Path: "/tmp", Mode: 0o1777, Dir: true}}
	for volume := range c.Volumes {
		folders = append(folders, archive.Entry{Path: volume, Mode: 0o755, Dir: true, UID: uid, GID: gid})
	}
	slices.SortFunc(folders, func(a, b archive.Entry) int { return strings.Compare(a.Path, b.Path) })
	return folders, nil
}
