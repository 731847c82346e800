#!/bin/sh
# An elector with a sorted set: its only member that is not over leads, and the
# score is when its lease ends, by the store's clock.
set -u
queue=$RECOUNT_ELECTION:queue
lease=${RECOUNT_LEASE_MS%.*}
renew=$((${RECOUNT_RENEW_MS%.*} / 2))
belief=$((lease - lease / 100 - 20))
# Answers 1 if NODE leads afterwards. ARGV: node, lease, whether it may begin.
ask="local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) > 0 and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1]) return 1"

clock() { read -r uptime _ </proc/uptime; now=${uptime%.*}${uptime#*.}0; }
tell() { clock; printf '{"event":"%s","at":%d,"until_ms":%d}\n' "$1" $((now * 1000000 - RECOUNT_EPOCH_NS)) $((deadline - now)); }
over() { printf '{"event":"deposed","why":"%s"}\n' "$1"; leads=; }
trap '[ -z "$leads" ] || { over resigned; redis-cli -u "$RECOUNT_REDIS_URL" ZREM "$queue" "$RECOUNT_NODE" >/dev/null; }; exit 0' TERM

leads= due=0 deadline=0 writes=0
while :; do
  clock
  if [ -n "$leads" ] && [ "$now" -ge "$deadline" ]; then
    over expired
  elif [ -z "$leads" ] || [ "$now" -ge "$due" ]; then
    sent=$now
    got=$(timeout 0.3 redis-cli -u "$RECOUNT_REDIS_URL" --raw EVAL "$ask" 1 "$queue" "$RECOUNT_NODE" "$lease")
    clock
    if [ "$got" = 1 ] && [ "$now" -lt $((sent + belief)) ]; then
      deadline=$((sent + belief)) due=$((sent + renew))
      if [ -n "$leads" ]; then tell extended; else leads=1; tell elected; fi
    elif [ "$got" = 0 ] && [ -n "$leads" ]; then
      over superseded
    else
      sleep 0.1
    fi
  else
    writes=$((writes + 1))
    curl -s -o /dev/null --max-time 0.3 "$RECOUNT_RESOURCE_URL/write" \
      -d "{\"node\":\"$RECOUNT_NODE\",\"election\":\"$RECOUNT_ELECTION\",\"value\":\"$RECOUNT_NODE/$writes\"}"
    sleep 0.05
  fi
done
