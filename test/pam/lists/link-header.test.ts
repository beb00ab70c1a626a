import { expect, test } from '@jest/globals'
import { parseLinkHeader } from '../../../src/pam/lists/link-header.ts'

/** RFC 8288, section 3: targets with their relations and parameters, in order. */
const read = (header: string) =>
  parseLinkHeader(header)?.map(({ target, relations, parameters }) => [
    target,
    relations,
    Object.fromEntries(parameters),
  ])

test.each<[header: string, links: unknown[]]>([
  ['', []],
  [' \t,, ,', []],
  ['</a>; rel=next', [['/a', ['next'], { rel: 'next' }]]],
  ['</a>; rel="next"', [['/a', ['next'], { rel: 'next' }]]],
  ['</a>', [['/a', [], {}]]],
  ['<>', [['', [], {}]]],
  ['</a>;', [['/a', [], {}]]],
  ['</a> \t; \t rel \t= \t"next" \t', [['/a', ['next'], { rel: 'next' }]]],
  ['</a>;;rel=next', [['/a', ['next'], { rel: 'next' }]]],
  ['</a>; ; ;rel=next', [['/a', ['next'], { rel: 'next' }]]],
  ['</a>; REL="NEXT Prev"', [['/a', ['next', 'prev'], { rel: 'NEXT Prev' }]]],
  ['</a>; rel=" next \t prev "', [['/a', ['next', 'prev'], { rel: ' next \t prev ' }]]],
  ['</a>; rel=""', [['/a', [], { rel: '' }]]],
  ['</a>; rel', [['/a', [], { rel: '' }]]],
  ['</a>; rel=prev; rel=next', [['/a', ['prev'], { rel: 'prev' }]]],
  ['</a>; title="a, b; rel=x"; rel=next', [['/a', ['next'], { title: 'a, b; rel=x', rel: 'next' }]]],
  [String.raw`</a>; title="say \"hi\" \\ \n"`, [['/a', [], { title: String.raw`say "hi" \ n` }]]],
  ['</a>; type=text/html;rel=next', [['/a', ['next'], { type: 'text/html', rel: 'next' }]]],
  [`</a>; hreflang=de'CH`, [['/a', [], { hreflang: `de'CH` }]]],
  [`</a>; title*=UTF-8'de'n%c3%a4chste`, [['/a', [], { 'title*': `UTF-8'de'n%c3%a4chste` }]]],
  [
    '</a>; rel=https://example.com/rel',
    [['/a', ['https://example.com/rel'], { rel: 'https://example.com/rel' }]],
  ],
  ['</a>; rel="a+b:c x.y-1 z"', [['/a', ['a+b:c', 'x.y-1', 'z'], { rel: 'a+b:c x.y-1 z' }]]],
  [
    '</a>; rel=prev, </b?c=1,2;3>; rel=next',
    [
      ['/a', ['prev'], { rel: 'prev' }],
      ['/b?c=1,2;3', ['next'], { rel: 'next' }],
    ],
  ],
  [
    ', </a> ,\t,</b>;rel=next ,',
    [
      ['/a', [], {}],
      ['/b', ['next'], { rel: 'next' }],
    ],
  ],
])('%j', (header, links) => {
  expect(read(header)).toEqual(links)
})

test.each([
  'x',
  '/a; rel=next',
  '</a',
  'x</a>',
  '</a b>; rel=next',
  '</a\u00a0b>; rel=next',
  '<</a>>; rel=next',
  '</a> rel=next',
  '</a>; rel=next </b>; rel=prev',
  '</a>; rel=',
  '</a>; rel=;',
  '</a>; =next',
  '</a>; rel="next',
  '</a>; rel="next"x',
  String.raw`</a>; rel="next\"`,
  `</a>; rel='next'`,
  '</a>; rel=ne"xt',
  '</a>; rel=ne<xt',
  '</a>; rel=next>',
  '</a>; (rel)=next',
  '</a>; rel="n\u00e4chste"',
  '; rel=next',
  '</a>; rel="a_b:c"',
  '</a>; rel="1next"',
  '</a>; rel="next+1"',
  '</a>; rel="next prev:"',
  '</a>; rel="next :prev"',
  '</a>; rel=next, </b>; rel="é:x"',
])('%j is malformed', (header) => {
  expect(parseLinkHeader(header)).toBeUndefined()
})
