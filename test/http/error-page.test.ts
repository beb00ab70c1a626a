import { expect, test } from '@jest/globals'
import { errorPage } from '../../src/http/error-handler.ts'

// shows: V1.2.1
test('the texts of an error are escaped on its page', () => {
  const evil = `</p><script src="//evil.example"></script><img onerror='x'>&`
  const page = errorPage({
    errorCode: evil,
    errorSummary: evil,
    errorId: evil,
    errorLink: evil,
    errorCauses: [{ errorSummary: evil }],
  })
  expect(page.match(/<\/?[a-z!]+/gi)).toEqual(errorPageTags())
  expect(page.split('&lt;script src=&quot;//evil.example&quot;&gt;&lt;/script&gt;')).toHaveLength(5)
  expect(page.split('&#39;x&#39;&gt;&amp;')).toHaveLength(5)
})

// shows: V3.7.1
test('the page has no scripts and loads no resources', () => {
  expect(errorPageTags().filter((tag) => /script|style|link|img|iframe|object|embed/i.test(tag))).toEqual([])
})

function errorPageTags(): string[] {
  const errorCauses = [{ errorSummary: 'x' }]
  const plain = { errorCode: 'x', errorSummary: 'x', errorId: 'x', errorLink: 'x', errorCauses }
  return errorPage(plain).match(/<\/?[a-z!]+/gi) ?? []
}
