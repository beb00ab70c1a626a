import { CLOCKS } from './clocks.ts'
import { CONFIGURATION } from './configuration.ts'
import { COOKIES_AND_CACHING } from './cookies-and-caching.ts'
import { DEVICE_BOUND } from './device-bound.ts'
import { EGRESS } from './egress.ts'
import { EVENT_HOOKS } from './event-hooks.ts'
import { NGINX } from './nginx.ts'
import { OKTA_ORG } from './okta-org.ts'
import { OPS } from './ops.ts'
import { OTHER_HOSTS } from './other-hosts.ts'
import { PAM } from './pam.ts'
import { PROXY_HEADERS } from './proxy-headers.ts'
import { PROXY_PATHS } from './proxy-paths.ts'
import { PUBLIC_URL } from './public-url.ts'
import { REDIS, REDIS_SENTINEL_AND_CLUSTER } from './redis.ts'
import { REPLICAS } from './replicas.ts'
import { PUBLIC_TLS, UPSTREAM_TLS } from './tls.ts'

/**
 * All faults that the doctor must tell, by what brings them about. An id is a group and a name:
 * `redis/evicts`.
 */
export const CONFIGURATION_FAULTS = { configuration: CONFIGURATION }

export const PROXY_FAULTS = {
  'proxy-headers': PROXY_HEADERS,
  'proxy-paths': PROXY_PATHS,
  nginx: NGINX,
}

export const PUBLIC_URL_FAULTS = {
  'public-url': PUBLIC_URL,
  'public-tls': PUBLIC_TLS,
  ops: OPS,
}

export const PORTAL_FAULTS = {
  'cookies-and-caching': COOKIES_AND_CACHING,
  replicas: REPLICAS,
}

export const FEATURE_FAULTS = {
  'device-bound': DEVICE_BOUND,
  'event-hooks': EVENT_HOOKS,
  'other-hosts': OTHER_HOSTS,
}

export const SERVICES_FAULTS = {
  redis: REDIS,
  'redis-sentinel-and-cluster': REDIS_SENTINEL_AND_CLUSTER,
  'okta-org': OKTA_ORG,
  pam: PAM,
  egress: EGRESS,
  'upstream-tls': UPSTREAM_TLS,
  clocks: CLOCKS,
}
