import { expect, test } from '@jest/globals'
import { noPages } from '../../src/pam/lists/pages.ts'
import { createLookupPresenter, MAX_RENDERED } from '../../src/pam/present-lookup.ts'
import { serve } from '../http/serve.ts'

test('a response is rendered once for each list, name and stale flag, and few are kept', async () => {
  const present = createLookupPresenter()
  const list = { ...noPages(), roles: [], maximalRoles: [], unknownRoles: [], beganAt: 0 }
  let rendered = 0
  const data = () => {
    rendered += 1
    return { rendered }
  }
  const { ask, close } = await serve({
    routes: [
      {
        method: 'GET',
        path: '/:name/:stale',
        handle(req, res) {
          const served = { list, ageMs: 0, stale: req.params.stale === 'stale' }
          present(req, res, { served, name: String(req.params.name), data })
        },
      },
    ],
  })
  const renderedFor = async (path: string) => Object((await ask({ path })).json).rendered
  expect([await renderedFor('/a/fresh'), await renderedFor('/a/fresh')]).toEqual([1, 1])
  expect(await renderedFor('/a/stale')).toBe(2)
  for (let n = 2; n < MAX_RENDERED; n++) await renderedFor(`/${n}/fresh`)
  expect(await renderedFor('/a/fresh')).toBe(1)
  await renderedFor('/one-more/fresh')
  expect(await renderedFor('/a/fresh')).toBe(MAX_RENDERED + 2)
  await close()
})
