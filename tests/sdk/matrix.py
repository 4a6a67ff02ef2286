"""The official openai, anthropic and google-genai SDKs, unpatched, each against each kind of provider.

    matrix.py --url http://127.0.0.1:PORT --columns openai,anthropic,...

The gateway at the URL has a route for each column: model `m-COLUMN` goes to a scripted provider of that kind, which reads
requests as strictly as the real one (`tests/src/scripted`). `m-COLUMN-status-N` fails with N, `m-COLUMN-late-error` after the
first word of a stream, `m-COLUMN-silent` says nothing.

A row is a use of an SDK. A cell is `ok`, or the field that a 400 names; which 400s there must be stands in `refusals.py`.
Prints the table, and what is wrong with each cell that failed; the exit status is 1 if one did.
"""

import argparse
import asyncio
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import anthropic
import google.genai
import openai
from google.genai import errors, types

import rows_anthropic
import rows_genai
import rows_openai
from refusals import refusal


class Clients:
    """One client of each kind, for one thread."""

    def __init__(self, url):
        self.url = url
        common = dict(api_key="sk-caller", max_retries=0, timeout=20)
        self.openai = openai.OpenAI(base_url=f"{url}/v1", **common)
        self.anthropic = anthropic.Anthropic(base_url=url, **common)
        self.genai = google.genai.Client(
            api_key="sk-caller", vertexai=False, http_options=types.HttpOptions(base_url=url, timeout=20_000)
        )

    def run(self, make):
        """Runs a coroutine that is given asynchronous clients."""

        async def main():
            common = dict(api_key="sk-caller", max_retries=0, timeout=20)
            async with openai.AsyncOpenAI(base_url=f"{self.url}/v1", **common) as o:
                async with anthropic.AsyncAnthropic(base_url=self.url, **common) as a:
                    return await make(o, a, self.genai.aio)

        return asyncio.run(main())


def named_400(error):
    """The field that an error names, if it is a 400 of the gateway's own."""
    if isinstance(error, openai.BadRequestError):
        if error.code == "unsupported_by_target":
            return error.code
        return error.param if error.code == "invalid_request" else None
    if isinstance(error, anthropic.BadRequestError):
        body = error.body.get("error", {}) if isinstance(error.body, dict) else {}
        if body.get("code") == "unsupported_by_target":
            return body["code"]
        return body.get("param") if body.get("code") == "invalid_request" else None
    if isinstance(error, errors.ClientError) and error.code == 400:
        details = (error.details or {}).get("error", {}).get("details", [])
        reasons = [detail.get("reason") for detail in details]
        if "unsupported_by_target" in reasons:
            return "unsupported_by_target"
        fields = [
            violation.get("field") for detail in details for violation in detail.get("fieldViolations", [])
        ]
        return fields[0] if fields else None
    return None


def play(clients, row, column):
    """What a cell shows, and what is wrong with it."""
    wanted = refusal(row.__name__, column)
    try:
        row(clients, f"m-{column}")
    except Exception as error:
        param = named_400(error)
        if param is not None and param == wanted:
            return f"400 {param}", None
        return "FAIL", "".join(traceback.format_exception(error)[-12:])
    if wanted:
        return "FAIL", f"an answer where a 400 for {wanted} was due\n"
    return "ok", None


def table(rows, columns, cells):
    width = max(len(row.__name__) for row in rows)
    notes = []
    print(" " * width, *(f"{column[:9]:9}" for column in columns))
    for row in rows:
        shown = []
        for column in columns:
            said = cells[row.__name__, column][0]
            if said.startswith("400"):
                if said not in notes:
                    notes.append(said)
                said = f"400[{notes.index(said) + 1}]"
            shown.append(f"{said:9}")
        print(f"{row.__name__:{width}}", *shown)
    for n, note in enumerate(notes, 1):
        print(f"[{n}] {note}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--columns", required=True)
    parser.add_argument("--row", default="", help="only rows whose name holds this")
    args = parser.parse_args()
    columns = args.columns.split(",")
    rows = [row for row in rows_openai.ROWS + rows_anthropic.ROWS + rows_genai.ROWS if args.row in row.__name__]

    def play_column(column):
        clients = Clients(args.url)
        return {(row.__name__, column): play(clients, row, column) for row in rows}

    cells = {}
    with ThreadPoolExecutor(4) as pool:
        for played in pool.map(play_column, columns):
            cells.update(played)
    table(rows, columns, cells)
    failed = {cell: why for cell, (_, why) in cells.items() if why}
    for (row, column), why in failed.items():
        print(f"\n== {row} at {column}\n{why}")
    versions = f"openai {openai.__version__}, anthropic {anthropic.__version__}, google-genai {google.genai.__version__}"
    print(f"{versions}: {len(cells)} cells, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
