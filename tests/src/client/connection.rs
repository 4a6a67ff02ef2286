//! A socket, and what was read ahead of need.

use bytes::{Buf, BytesMut};
use std::io;
use tokio::{
    io::AsyncReadExt,
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

pub(super) struct Connection {
    pub(super) read: Reader,
    pub(super) write: OwnedWriteHalf,
}

pub(super) struct Reader {
    half: OwnedReadHalf,
    ahead: BytesMut,
}

impl Connection {
    pub(super) async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let (half, write) = stream.into_split();
        Ok(Self { read: Reader { half, ahead: BytesMut::new() }, write })
    }

    /// Leaves: by FIN, or by RST.
    pub(super) fn leave(self, fin: bool) {
        if !fin {
            // Where the option cannot be set the peer sees a FIN, and the case's checks tell.
            let _ = self.write.as_ref().set_zero_linger();
        }
    }
}

impl Reader {
    /// Reads on; an error at the end of the connection.
    async fn more(&mut self) -> io::Result<()> {
        match self.half.read_buf(&mut self.ahead).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// All up to and with `mark`.
    pub(super) async fn until(&mut self, mark: &[u8]) -> io::Result<String> {
        loop {
            if let Some(at) = self.ahead.windows(mark.len()).position(|window| window == mark) {
                return Ok(self.ahead.split_to(at + mark.len()).iter().copied().map(char::from).collect());
            }
            self.more().await?;
        }
    }

    /// Some bytes, at most so many; empty at the end of the connection.
    pub(super) async fn some(&mut self, most: usize) -> io::Result<BytesMut> {
        if self.ahead.is_empty() {
            self.half.read_buf(&mut self.ahead).await?;
        }
        let length = self.ahead.len().min(most);
        Ok(self.ahead.split_to(length))
    }

    pub(super) async fn exactly(&mut self, length: usize) -> io::Result<BytesMut> {
        while self.ahead.len() < length {
            self.more().await?;
        }
        Ok(self.ahead.split_to(length))
    }

    /// The size of the next chunk.
    pub(super) async fn chunk_size(&mut self) -> io::Result<usize> {
        let line = self.until(b"\n").await?;
        let size = line.split(';').next().unwrap_or_default().trim();
        usize::from_str_radix(size, 16).map_err(io::Error::other)
    }

    /// Past the end of a line; trailers after the last chunk too.
    pub(super) async fn line_end(&mut self, trailers: bool) -> io::Result<()> {
        if !trailers {
            let end = self.exactly(2).await?;
            return if end.chunk() == b"\r\n" { Ok(()) } else { Err(io::Error::other("no end of a chunk")) };
        }
        while self.until(b"\n").await?.trim_end() != "" {}
        Ok(())
    }
}
