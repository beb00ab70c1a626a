import type { Exchange } from './caller.ts'
import { isRecord } from './json.ts'
import type { Pseudonyms } from './pseudonyms.ts'

export interface Recordings {
  add(checkId: string, exchange: Exchange): void
  /** By file name. The answers are what `npm run replay` reads. */
  files(): ReadonlyMap<string, string>
}

const AUTHN_PATH = /^\/api\/v1\/authn(\/|$)/

/** Whether a file of this name is one that `files` names. */
export const isRecording = (name: string) => /^\d{3,}-.+\.(json|request\.txt)$/.test(name)

/** Keeps the requests to the Authentication API and their answers, and learns what to replace. */
export function createRecordings(pseudonyms: Pseudonyms): Recordings {
  const kept: { name: string; exchange: Exchange }[] = []
  /** A short word, such as the value of a cookie, is nobody's, and may be in any text. */
  function learnToken(word: string): void {
    if (word.length > 10) pseudonyms.learn('token', word)
  }

  return {
    add(checkId, exchange) {
      const { call, reply } = exchange
      pseudonyms.learnFrom(call.body)
      pseudonyms.learnFrom(reply.data)
      for (const name of ['authorization', 'cookie', 'x-device-fingerprint'])
        for (const word of call.headers?.[name]?.split(/[ =]/) ?? []) learnToken(word)
      for (const line of reply.headers.getSetCookie()) learnToken(/^[^=]+=([^;]+)/.exec(line)?.[1] ?? '')
      const [path = ''] = call.path.split('?')
      if (!AUTHN_PATH.test(path) || !isRecord(reply.data)) return
      const step = path.split('/').at(-1) ?? ''
      const number = String(kept.length + 1).padStart(3, '0')
      kept.push({ name: `${number}-${checkId}-${step.length > 20 ? 'factor' : step}`, exchange })
    },
    files() {
      const entries = kept.flatMap(({ name, exchange: { call, reply } }): [string, string][] => [
        [`${name}.request.txt`, requestText(call, pseudonyms)],
        [`${name}.json`, textOf(pseudonyms.replaceIn(reply.data))],
      ])
      return new Map(entries)
    },
  }
}

function requestText(
  { method, path, headers = {}, body }: Exchange['call'],
  { replace, replaceIn }: Pseudonyms,
): string {
  const names = Object.keys(headers)
  const token = names.includes('authorization') ? 'with the API token' : 'without the API token'
  return `${method} ${replace(path)}\n(${token})\n\n${textOf(replaceIn(body ?? {}))}`
}

const textOf = (data: unknown) => `${JSON.stringify(data, null, 2)}\n`
