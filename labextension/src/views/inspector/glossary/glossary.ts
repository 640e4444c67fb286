/** The terms of the inspector, and what each means. */
import type { IWords } from '../../host';

/** The terms, in the order in which they are explained. */
export const TERMS = [
  'request',
  'item',
  'fact and estimate',
  'read from cache',
  'cache break',
  'written anew',
  'warm cache',
  'cache mark',
  'policy',
  'estimate of the recording',
  'with refetching',
  'acted',
  'cleared',
  'summarised',
  'needed names that stay',
  'waste'
] as const;
export type Term = (typeof TERMS)[number];

interface IGlossaryEntry {
  readonly term: Term;
  /** The word as pages write it. */
  readonly name: string;
  readonly meaning: string;
}

/** Returns every term with its meaning, in their order. */
export function glossaryEntries(words: IWords): readonly IGlossaryEntry[] {
  const texts: Record<Term, readonly [string, string]> = {
    request: [
      words.__('request'),
      words.__(
        'What is sent to the model for one answer: the system prompt, the tools, and the items that are shown to it.'
      )
    ],
    item: [
      words.__('item'),
      words.__(
        'A piece of the conversation that stays or goes as a whole: a prompt, a text or call of an answer, a result, a summary.'
      )
    ],
    'fact and estimate': [
      words.__('fact and estimate'),
      words.__(
        'A fact was reported by the provider or recorded by the agent. An estimate was computed here, and is marked ~ or written in words.'
      )
    ],
    'read from cache': [
      words.__('read from cache'),
      words.__(
        'Tokens at the beginning of a request that the provider still held from an earlier request, usually for a tenth of the price.'
      )
    ],
    'cache break': [
      words.__('cache break'),
      words.__(
        'A request that read less from the cache than the request before had left there.'
      )
    ],
    'written anew': [
      words.__('written anew'),
      words.__(
        'Tokens that the cache had held and that a request after a cache break paid for once more: at the price of writing, or at the full price where the provider has none for writing.'
      )
    ],
    'warm cache': [
      words.__('warm cache'),
      words.__(
        'A cache that still holds all of the request before. The cost with a warm cache is an estimate of what the same request would have cost without the break.'
      )
    ],
    'cache mark': [
      words.__('cache mark'),
      words.__(
        'A place up to which the client asked for the prompt to be cached, and for how long, where the provider caches only what is asked for. It is known where the session is ours, or what was sent was captured.'
      )
    ],
    policy: [
      words.__('policy'),
      words.__(
        'A rule for what a request still shows. What if replays the session under it: the answers stay as recorded, the requests are as the rule would have made them.'
      )
    ],
    'estimate of the recording': [
      words.__('estimate of the recording'),
      words.__(
        'The session as recorded, counted and priced by the same estimate as a policy, so that the two can be compared. Where the recording lost the cache for no known cause, both lose it. It is not the bill: the line above the tracks says how well it reproduces what was reported.'
      )
    ],
    'with refetching': [
      words.__('with refetching'),
      words.__(
        'With the calls for summaries, and with one more request for each result that held a name an answer used later, when no request showed it any more.'
      )
    ],
    acted: [
      words.__('acted'),
      words.__('The rule of the policy changed what this request shows.')
    ],
    cleared: [
      words.__('cleared'),
      words.__(
        'A result of which a request shows only that it was there. Truncated: its beginning or its ends are shown.'
      )
    ],
    summarised: [
      words.__('summarised'),
      words.__(
        'Items that a compaction replaced by a summary, which is an item of its own.'
      )
    ],
    'needed names that stay': [
      words.__('needed names that stay'),
      words.__(
        'Of all paths, errors, identifiers and numbers that answers used, the share that the request still showed.'
      )
    ],
    waste: [
      words.__('waste'),
      words.__(
        'Tokens that were paid for without use: a cache break, an aborted request, a result that stayed and was not used again.'
      )
    ]
  };
  return TERMS.map(term => {
    const [name, meaning] = texts[term];
    return { term, name, meaning };
  });
}
