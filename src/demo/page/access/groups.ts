import { actions, element } from '../parts/elements.js'
import { button, form } from '../parts/form.js'
import { type Ask, type Group, groupTable, text } from './access.js'

interface Page {
  readonly list: readonly Group[]
  readonly nextCursor: string | null
}

const PAGE = '10'
const SEARCH = ['search', 'Part of the name', { type: 'search', required: false }] as const

/** Search over all groups, where the broker allows it to this person (else 403, and it says so). */
export function createDirectory(ask: Ask): HTMLElement {
  const found = element('div', { 'aria-live': 'polite' })

  const search = async (words: string, cursor: string | undefined, before: readonly Group[]) => {
    const query = new URLSearchParams({ search: words, limit: PAGE, ...(cursor ? { cursor } : {}) })
    const { list, nextCursor } = await ask<Page>('GET', `/api/v1/pam/groups?${query}`)
    const groups = [...before, ...list]
    found.replaceChildren(
      text(groups.length === 0 ? 'No group has these words in its name.' : `${groups.length} shown`),
      ...(groups.length === 0 ? [] : [groupTable('Groups found', groups)]),
      ...(nextCursor ? [actions(button('More', () => search(words, nextCursor, groups)))] : []),
    )
    const firstNew = found.querySelectorAll('tbody tr')[before.length]?.querySelector('td')
    if (before.length === 0 || !firstNew) return
    firstNew.tabIndex = -1
    firstNew.focus() // the button that had it is gone
  }
  return element(
    'div',
    {},
    form([SEARCH], 'Search', ({ search: words }) => search(String(words), undefined, [])),
    found,
  )
}
