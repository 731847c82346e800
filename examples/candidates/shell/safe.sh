#!/bin/sh
# A candidate in POSIX sh that leads on Redis, with redis-cli, curl and Linux's
# /proc/uptime.
#
#     chaos run crash-leader partition-leader --exec 'sh safe.sh'
#
# Every call is bounded by timeout: a shell that waits for an answer cannot see
# that its lease is over. Times are in milliseconds.
set -u

lock=$RECOUNT_ELECTION:lock
counter=$RECOUNT_ELECTION:token
lease=${RECOUNT_LEASE_MS%.*}
renew=${RECOUNT_RENEW_MS%.*}
# Each attempt is a process or two: not too many of them.
retry=${RECOUNT_RETRY_MS%.*}
[ "$retry" -ge 100 ] || retry=100
# How long the leader believes after sending a request that is granted. A
# hundredth is for clocks that do not run alike, and 20 ms are for the grain of
# this one.
belief=$((lease - lease / 100 - 20))

# Each answers the token if the lease is ours afterwards (release: was ours), or 0.
acquire="if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])"
extend="if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('GET', KEYS[2])"
release="if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('GET', KEYS[2])"

# clock: the time since the machine was started, also while it was suspended,
# in $now. It is read without a process of its own.
clock() {
  read -r uptime _ </proc/uptime
  now=${uptime%.*}${uptime#*.}0
}

seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# ask SCRIPT: answers the token, 0 if refused, or nothing if nobody knows.
ask() {
  timeout "$patience" redis-cli -u "$RECOUNT_REDIS_URL" --raw EVAL "$1" 2 "$lock" "$counter" "$value" "$lease" |
    grep -Ex '[0-9]+'
}

# tell EVENT: that the belief begins or goes on, and since when: the line may
# arrive late. The run's clock is this one but for the time that the machine was
# suspended; where it was, this time is in the future, and the line's arrival
# counts.
tell() {
  clock
  printf '{"event":"%s","token":%d,"at":%d,"until_ms":%d}\n' "$1" "$token" $((now * 1000000 - RECOUNT_EPOCH_NS)) $((deadline - now))
}

over() { # WHY
  printf '{"event":"deposed","token":%d,"why":"%s"}\n' "$token" "$1"
  token=
}

campaign() {
  # New for each attempt: a lease that is granted late must not look like ours.
  value=$RECOUNT_NODE/$(cat /proc/sys/kernel/random/uuid)
  clock
  sent=$now
  granted=$(ask "$acquire")
  clock
  if [ "${granted:-0}" -gt 0 ] && [ "$now" -lt $((sent + belief)) ]; then
    token=$granted
    deadline=$((sent + belief))
    due=$((now + renew))
    tell elected
    return
  fi
  # It may have been granted, and nobody would know.
  [ "$granted" = 0 ] || ask "$release" >/dev/null
  sleep "$pause"
}

prolong() {
  clock
  sent=$now
  granted=$(ask "$extend")
  clock
  if [ "${granted:-1}" -eq 0 ]; then
    over superseded
  elif [ -n "$granted" ] && [ "$now" -lt "$deadline" ]; then
    deadline=$((sent + belief))
    due=$((now + renew))
    tell extended
  fi
}

work() {
  writes=$((writes + 1))
  # It is over before the term is, even if the resource does not answer.
  status=$(curl -s -o /dev/null -w '%{http_code}' --max-time "$(seconds $((deadline - now)))" "$RECOUNT_RESOURCE_URL/write" \
    -d "{\"node\":\"$RECOUNT_NODE\",\"election\":\"$RECOUNT_ELECTION\",\"token\":$token,\"value\":\"$RECOUNT_NODE/$token/$writes\"}")
  if [ "$status" = 409 ]; then over superseded; else sleep "$pace"; fi
}

resign() {
  if [ -n "$token" ]; then
    printf '{"event":"deposed","token":%d,"why":"resigned"}\n' "$token" # first, for the next one may lead at once
    ask "$release" >/dev/null
  fi
  exit 0
}
trap resign TERM

patience=$(seconds $((renew / 2)))
pause=$(seconds "$retry")
pace=$(seconds "${RECOUNT_WRITE_MS%.*}")
token= value= deadline=0 due=0 writes=0
while :; do
  clock
  if [ -z "$token" ]; then
    campaign
  elif [ "$now" -ge "$deadline" ]; then
    over expired
  elif [ "$now" -ge "$due" ]; then
    prolong
  else
    work
  fi
done
