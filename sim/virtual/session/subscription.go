package session

import "slices"

// subscribe makes the connection listen. Channels know no databases.
func (c *Session) subscribe(channels []string) {
	s := c.server
	if s.channels == nil {
		s.channels = map[string][]*Session{}
	}
	for _, channel := range channels {
		if !slices.Contains(c.subs, channel) {
			c.subs = append(c.subs, channel)
			s.channels[channel] = append(s.channels[channel], c)
			for _, db := range s.Databases {
				db.Subscribe(channel)
			}
		}
		c.confirm("subscribe", channel)
	}
}

func (c *Session) unsubscribeAll(channels []string) {
	if len(channels) == 0 {
		channels = slices.Clone(c.subs)
	}
	for _, channel := range channels {
		c.unsubscribe(channel)
		c.confirm("unsubscribe", channel)
	}
}

func (c *Session) unsubscribe(channel string) {
	i := slices.Index(c.subs, channel)
	if i < 0 {
		return
	}
	c.subs = slices.Delete(c.subs, i, i+1)
	s := c.server
	j := slices.Index(s.channels[channel], c)
	if j < 0 {
		return // the server was restarted
	}
	s.channels[channel] = slices.Delete(s.channels[channel], j, j+1)
	for _, db := range s.Databases {
		db.Unsubscribe(channel)
	}
}

func (c *Session) confirm(kind, channel string) {
	c.out = appendHead(appendBulk(appendBulk(appendHead(c.out, c.unasked(), 3), kind), channel), ':', int64(len(c.subs)))
}
