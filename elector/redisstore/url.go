package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ParseURL makes options from a URL:
//
//	redis://[user:password@]host[:port][/db]
//	rediss://…                                   with TLS
//	unix://[user:password@]/path/to/socket[?db=N]
//
// A password alone is written redis://:password@host. Characters that mean
// something in a URL are written %XX. Parameters, after "?" and separated by
// "&": addr=host:port (repeatable: further nodes), cluster=true (given by
// itself with more than one address), master=NAME (the addresses are those of
// Sentinels), sentinel_username and sentinel_password (who we are to the
// Sentinels themselves; the user before the host is the one of the servers that
// they watch), dial_timeout, read_timeout and write_timeout (as 500ms). With rediss://:
// ca=FILE (certificates of the authorities to trust, in PEM), cert=FILE and key=FILE (the
// client's own certificate), server_name=NAME (that the server's certificate must have, in
// place of the host of the address), tls_min=1.3 (the oldest version of TLS; 1.2 by
// default), skip_verify=true (any certificate will do). The files are read again for each
// new connection.
//
// A password that changes is a function in the options (CredentialsProviderContext and its
// like), in place of the URL's.
//
// Its errors never contain a part of the URL, because a password with an
// unescaped character can be anywhere in it.
func ParseURL(text string) (*redis.UniversalOptions, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("redisstore: the Redis URL cannot be read: write it as redis://user:password@host:port/db, with special characters of the password as %XX")
	}
	if u.Opaque != "" || u.Fragment != "" || strings.HasSuffix(text, "#") {
		return nil, errors.New("redisstore: the Redis URL cannot be read: it must begin with redis://, rediss:// or unix://, and a \"#\" in a password is written %23")
	}
	o := &redis.UniversalOptions{}
	switch u.Scheme {
	case "redis", "rediss":
		err = setHost(o, u)
	case "unix":
		err = setSocket(o, u)
	default:
		err = errors.New("redisstore: the Redis URL must begin with redis://, rediss:// (TLS) or unix://")
	}
	if err != nil {
		return nil, err
	}
	if err := setUser(o, u.User); err != nil {
		return nil, err
	}
	var files tlsFiles
	if err := setParameters(o, &files, u.RawQuery); err != nil {
		return nil, err
	}
	if err := checkPorts(o, u.Scheme); err != nil {
		return nil, err
	}
	if err := files.setTLS(o); err != nil {
		return nil, err
	}
	if err := checkSentinels(o); err != nil {
		return nil, err
	}
	return o, nil
}

func setHost(o *redis.UniversalOptions, u *url.URL) error {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		return errors.New("redisstore: the Redis URL names no host: write redis://host:port/db")
	}
	if port == "" {
		port = "6379"
	}
	o.Addrs = []string{net.JoinHostPort(host, port)}
	if u.Scheme == "rediss" {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		return setDB(o, db)
	}
	return nil
}

// checkPorts refuses a port that no address can have. It comes after what tells of an
// unescaped password, of which a part is a port, too.
func checkPorts(o *redis.UniversalOptions, scheme string) error {
	if scheme == "unix" {
		return nil
	}
	for _, addr := range o.Addrs {
		_, port, _ := net.SplitHostPort(addr) // "" cannot be parsed either
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("redisstore: the Redis URL has an invalid port: give a port from 1 to 65535")
		}
	}
	return nil
}

func setSocket(o *redis.UniversalOptions, u *url.URL) error {
	if u.Host != "" || u.Path == "" || u.Path == "/" {
		return errors.New("redisstore: the Redis URL names no socket: write unix:///path/to/socket")
	}
	o.Addrs = []string{u.Path}
	return nil
}

func setDB(o *redis.UniversalOptions, text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("redisstore: the Redis URL's database is not a number of 0 or more: write redis://host:port/0, and a \"/\" in a password as %2F")
	}
	o.DB = int(n)
	return nil
}

func setUser(o *redis.UniversalOptions, user *url.Userinfo) error {
	if user == nil {
		return nil
	}
	password, _ := user.Password()
	if password == "" {
		return errors.New("redisstore: the Redis URL has a user but no password: write redis://user:password@host, or redis://:password@host for a password alone")
	}
	o.Username, o.Password = user.Username(), password
	return nil
}

func setParameters(o *redis.UniversalOptions, files *tlsFiles, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil || strings.Contains(query, "@") { // it would look like the end of a user
		return errors.New("redisstore: the Redis URL's parameters cannot be read: write ?name=value&name=value, and in a password a \"?\" as %3F and a \"@\" as %40")
	}
	for name, all := range values {
		if err := setParameter(o, files, name, all); err != nil {
			return err
		}
	}
	return nil
}

// checkSentinels refuses what would be left unsaid to Sentinels.
func checkSentinels(o *redis.UniversalOptions) error {
	switch {
	case o.SentinelUsername != "" && o.SentinelPassword == "":
		return errors.New("redisstore: the Redis URL has a sentinel_username but no sentinel_password: Sentinels know nobody without one")
	case o.SentinelPassword != "" && o.MasterName == "":
		return errors.New("redisstore: the Redis URL has a sentinel_password but no master=NAME, so no Sentinel would be asked: add it, or leave the password out")
	}
	return nil
}

func setParameter(o *redis.UniversalOptions, files *tlsFiles, name string, values []string) error {
	value, err := values[len(values)-1], error(nil)
	switch name {
	case "addr":
		for _, addr := range values {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return errors.New("redisstore: the Redis URL's parameter addr is not host:port")
			}
		}
		o.Addrs = append(o.Addrs, values...)
	case "db":
		err = setDB(o, value)
	case "cluster":
		o.IsClusterMode, err = strconv.ParseBool(value)
	case "master":
		o.MasterName = value
	case "sentinel_username":
		o.SentinelUsername = value
	case "sentinel_password":
		o.SentinelPassword = value
	case "skip_verify", "server_name", "tls_min", "ca", "cert", "key":
		err = setSecurity(o, files, name, value)
	case "dial_timeout":
		o.DialTimeout, err = time.ParseDuration(value)
	case "read_timeout":
		o.ReadTimeout, err = time.ParseDuration(value)
	case "write_timeout":
		o.WriteTimeout, err = time.ParseDuration(value)
	default:
		return errors.New("redisstore: the Redis URL has an unknown parameter (known are addr, ca, cert, cluster, db, dial_timeout, key, master, read_timeout, sentinel_password, sentinel_username, server_name, skip_verify, tls_min, write_timeout); a \"?\" in a password is written %3F")
	}
	if err != nil {
		return errors.New("redisstore: the Redis URL's parameter " + name + " has no valid value: true or false, a number, or a time as 500ms")
	}
	return nil
}

// setSecurity sets what is about TLS.
func setSecurity(o *redis.UniversalOptions, files *tlsFiles, name, value string) (err error) {
	config := o.TLSConfig
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12} // it is not used
	}
	switch name {
	case "skip_verify":
		config.InsecureSkipVerify, err = strconv.ParseBool(value) //nolint:gosec // the user asks for it
	case "server_name":
		config.ServerName = value
	case "tls_min":
		config.MinVersion, err = tlsVersion(value)
	case "ca":
		files.ca = value
	case "cert":
		files.cert = value
	case "key":
		files.key = value
	}
	return err
}

// checkAddrs refuses what cannot be an address before anybody dials it again and again.
func checkAddrs(addrs []string) error {
	for _, addr := range addrs {
		switch {
		case addr == "":
			return errors.New("redisstore: an address is empty: give host:port in Addrs, or leave Addrs out for localhost:6379")
		case strings.Contains(addr, "://"):
			return fmt.Errorf("redisstore: the address %q is a URL: use ParseURL, or give host:port in Addrs", addr)
		}
	}
	return nil
}
