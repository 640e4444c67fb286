/** The name of a model or a policy, whose lines end where its parts do. */
import { Fragment } from 'react';

/** A part ends behind a slash or a dot, and behind an underscore where more than a letter or two follow. */
const PARTS = /(?<=[/.])|(?<=_)(?=[^/._]{3})/;

/** Draws the name; without room for a part it is broken anywhere. */
export function BreakableName({ name }: { name: string }) {
  return (
    <bdi className="plm-Inspector-breakable">
      {name.split(PARTS).map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}
