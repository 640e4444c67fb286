"""Keep the five newest outputs in a running session, by a policy of one's own."""

import palimpsest
from palimpsest import policies


@palimpsest.policy
def newest_five(view: palimpsest.PastView) -> list[palimpsest.Change]:
    return [policies.clear(index) for index in view.outputs[:-5]]


def main() -> None:
    app = palimpsest.App()
    session = palimpsest.open_session(app)
    session.policy = newest_five
    answer = session.prompt("Which files are there?", yes=True)
    print(answer.text)
    print(session.own_policy)
    app.close()


if __name__ == "__main__":
    main()
