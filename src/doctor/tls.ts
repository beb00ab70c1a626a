import { type Finding, fail } from './finding.ts'

/**
 * Codes of Node, OpenSSL and undici for a certificate that is not accepted, or a port that does not
 * speak TLS.
 */
export function isTlsFailure({ code = '' }: { readonly code?: string | undefined }): boolean {
  return /CERT|SIGNATURE|ISSUER|TLS|SSL|EPROTO/.test(code)
}

/** `{server}` in the texts: such as `PUBLIC_URL`. */
interface Reason {
  readonly codes: RegExp
  readonly detail: string
  readonly fix: string
}

const REASONS: readonly Reason[] = [
  {
    codes: /CERT_HAS_EXPIRED|CERTIFICATE_EXPIRED/,
    detail: 'the certificate of {server} has expired',
    fix: 'Renew it, or find out why it is not renewed automatically; and look at the clock of this machine.',
  },
  {
    codes: /CERT_NOT_YET_VALID/,
    detail: 'the certificate of {server} is not valid yet',
    fix: 'Look at the clock of this machine (NTP).',
  },
  {
    codes: /ALTNAME_INVALID/,
    detail: 'the certificate of {server} is for another host',
    fix: 'The certificate must name this host, or {variable} another one.',
  },
  {
    codes: /WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST|EPROTO/,
    detail: 'the port of {server} does not speak TLS',
    fix: 'A server for plain HTTP answers there: correct the scheme or the port in {variable}, or let it speak TLS.',
  },
  {
    codes: /ALERT_UNKNOWN_CA|ALERT_BAD_CERTIFICATE/,
    detail: '{server} does not accept the client certificate',
    fix: 'Set REDIS_CERT_FILE and REDIS_KEY_FILE to one of the authority that the server trusts.',
  },
  {
    codes: /CERTIFICATE_REQUIRED|ALERT_HANDSHAKE_FAILURE/,
    detail: '{server} wants a certificate of its clients',
    fix: 'Set REDIS_CERT_FILE and REDIS_KEY_FILE, if it is Redis; others must not ask the broker for one.',
  },
]

const NOT_ACCEPTED: Omit<Reason, 'codes'> = {
  detail: 'the certificate of {server} is not accepted',
  fix: 'If its authority is private, or a proxy on the way replaces it, set {authorities} to that authority. Otherwise let the server send its intermediate certificates, or correct {variable}.',
}

export interface TlsServer {
  /** Such as `the org`. */
  readonly server: string
  /** Of its address. */
  readonly variable: string
  /** Of the file with its authority. */
  readonly authorities: 'UPSTREAM_CA_FILE' | 'REDIS_CA_FILE'
}

/** What is wrong, if `isTlsFailure`. */
export function judgeTlsFailure(code: string, { server, variable, authorities }: TlsServer): Finding {
  const { detail, fix } = REASONS.find(({ codes }) => codes.test(code)) ?? NOT_ACCEPTED
  const write = (text: string) =>
    text
      .replaceAll('{server}', server)
      .replaceAll('{variable}', variable)
      .replaceAll('{authorities}', authorities)
  return fail(`${write(detail)} (${code})`, write(fix))
}
