import { expect, test } from '@jest/globals'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { composeMiddleware } from '../../src/http/routes.ts'

/** What the handler after them is told: `[]` when all went well. */
const after = (...handlers: RequestHandler[]) =>
  new Promise<unknown[]>((resolve) => {
    const next: NextFunction = (...told: unknown[]) => resolve(told.filter((one) => one !== undefined))
    void composeMiddleware(...handlers)({} as Request, {} as Response, next)
  })
const goOn: RequestHandler = (_req, _res, next) => next()

test('handlers run in order, asynchronous ones included', async () => {
  const seen: string[] = []
  const slow: RequestHandler = async (_req, _res, next) => {
    await Promise.resolve()
    seen.push('slow')
    next()
  }
  const last: RequestHandler = (_req, _res, next) => {
    seen.push('last')
    next()
  }
  expect(await after(goOn, slow, last)).toEqual([])
  expect(seen).toEqual(['slow', 'last'])
})

const trouble = new Error('plainly wrong')
const refusals: [string, RequestHandler][] = [
  [
    'throws',
    () => {
      throw trouble
    },
  ],
  ['rejects', () => Promise.reject(trouble)],
  ['passes an error to next', (_req, _res, next) => next(trouble)],
]
test.each(refusals)('a handler that %s is the last one', async (_how, refuse) => {
  let went = false
  const told = await after(refuse, () => {
    went = true
  })
  expect([told, went]).toEqual([[trouble], false])
})

test('a rejection without a reason is an error', async () => {
  expect(await after(() => Promise.reject())).toEqual([expect.any(Error)])
})
