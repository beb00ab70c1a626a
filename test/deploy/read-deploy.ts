import { readFileSync } from 'node:fs'
import { parse, parseDocument } from 'yaml'
import { z } from 'zod'

const root = new URL('../../', import.meta.url)

export function readProject(path: string): string {
  return readFileSync(new URL(path, root), 'utf8')
}

/** One document, without a warning. Merge keys (`<<`) work as in Compose. */
export function readYaml(path: string): unknown {
  const document = parseDocument(readProject(path), { merge: true })
  const problems = [...document.errors, ...document.warnings]
  if (problems.length > 0) throw new Error(`${path}: ${problems.map(({ message }) => message).join('; ')}`)
  return parse(readProject(path), { merge: true })
}

const settings = z.object({ http: z.object({ readinessLeadMs: z.number(), shutdownGraceMs: z.number() }) })

/** The longest shutdown in seconds, with the time to close the connection to Redis. */
export function longestStopSeconds(): number {
  const { http } = settings.parse(JSON.parse(readProject('config/default.json')))
  return http.shutdownGraceMs / 1000 + 3
}

/** The instructions of the last stage of the Dockerfile. */
export function imageFacts(): { user: string; port: string } {
  const last =
    readProject('Dockerfile')
      .split(/^FROM /m)
      .at(-1) ?? ''
  const fact = (word: string) => {
    const found = new RegExp(`^${word} (\\S+)$`, 'm').exec(last)?.[1]
    if (found === undefined) throw new Error(`Dockerfile: no ${word}`)
    return found
  }
  return { user: fact('USER'), port: fact('EXPOSE') }
}

export const packageVersion = (): string =>
  z.object({ version: z.string() }).parse(JSON.parse(readProject('package.json'))).version
