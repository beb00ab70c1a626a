import { readFileSync } from 'node:fs'

/** Loads the production packages and nothing else. */
const { dependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
await Promise.all(Object.keys(dependencies).map((name) => import(name)))
process.send?.({ port: 0 })
