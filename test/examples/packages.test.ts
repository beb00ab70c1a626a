import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

interface Package {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

function read(path: string): Package {
  return JSON.parse(readFileSync(new URL(`../../${path}/package.json`, import.meta.url), 'utf8')) as Package
}

const all = ({ dependencies, devDependencies }: Package) => ({ ...dependencies, ...devDependencies })

test('the example for Next.js has the client of this version', () => {
  expect(all(read('examples/nextjs'))['gatehouse-client']).toBe(
    `file:gatehouse-client-${read('client').version}.tgz`,
  )
})

test.each(['plain', 'react', 'express'])(
  'a copy of the starter %s installs what its tests ran with',
  (name) => {
    const { gatehouse, 'gatehouse-client': client, ...others } = all(read(`examples/${name}`))
    expect(gatehouse).toBe(`file:gatehouse-${read('.').version}.tgz`)
    expect(client).toBe(`file:gatehouse-client-${read('client').version}.tgz`)
    expect(all(read('.'))).toMatchObject(others)
  },
)
